package dst

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"math/rand/v2"
	"slices"

	"metasim/metasim"
	"metasim/record/journal"
	"metasim/record/past"
	"metasim/wire/session"
)

func newDisk(r *rand.Rand) *disk {
	d := &disk{durable: r.IntN(2) == 0, lazy: pick(r, 0, 90, 99), files: new(files)}
	d.writer, d.kept = journal.NewWriter(&d.file), past.NewCheckpoints(d.files, 1)
	return d
}

func (f *file) Write(b []byte) (int, error) {
	n := copy(f.b[f.at:], b)
	f.b = append(f.b, b[n:]...)
	f.at += len(b)
	return len(b), nil
}

// Seek goes to an offset from the start.
func (f *file) Seek(offset int64, _ int) (int64, error) {
	f.at = int(offset)
	return offset, nil
}

func (f *file) Truncate(size int64) error {
	f.b = f.b[:size]
	return nil
}

// observe writes an entry.
func (d *disk) observe(wall int, ev metasim.Event, effects []metasim.Effect) error {
	if ev != nil || len(effects) > 0 { // else it changed nothing, and is left out
		d.entries++
	}
	return d.writer.Observe(int64(wall), ev, effects)
}

// written returns how many bytes the journal has, when they are in the file.
func (d *disk) written() (int, error) {
	size, written := d.writer.Mark()
	return int(size), written()
}

// sync has everything reach the disk.
func (d *disk) sync() (err error) {
	d.safe, err = d.written()
	d.synced = d.entries
	return err
}

// past opens the journal, as far as it is there, for what it holds of a client.
func (d *disk) past(id metasim.ClientID) (p *past.Reader, size int64, err error) {
	n, err := d.written()
	if err != nil {
		return nil, 0, err
	}
	b := d.file.b[:n:n]
	return past.NewReader(id, func() (past.Source, error) { return journal.NewOwn(bytes.NewReader(b), id), nil }), int64(n), nil
}

// keep keeps a checkpoint of a client, some time, unless the last one of it is still to be written.
func (d *disk) keep(id metasim.ClientID, saved *session.Saved) error {
	if slices.ContainsFunc(d.keeping, func(k keeping) bool { return k.client == id }) {
		return nil
	}
	size, err := d.written()
	d.keeping = append(d.keeping, keeping{id, int64(size), *saved})
	return err
}

// write writes the first checkpoints that are still to be kept.
func (d *disk) write(checkpoints int) error {
	var errs []error
	for i := range d.keeping[:checkpoints] {
		k := &d.keeping[i]
		errs = append(errs, d.kept.Keep(k.client, k.size, &k.saved))
	}
	d.keeping = slices.Delete(d.keeping, 0, checkpoints)
	return errors.Join(errs...)
}

func (fs *files) find(name string) int {
	return slices.IndexFunc(*fs, func(f checkpointFile) bool { return f.name == name })
}

// Read returns what a file has.
func (fs *files) Read(name string) ([]byte, error) {
	if i := fs.find(name); i >= 0 {
		return (*fs)[i].b, nil
	}
	return nil, fmt.Errorf("%s: %w", name, iofs.ErrNotExist)
}

// Write writes a file whole.
func (fs *files) Write(name string, b []byte) error {
	if i := fs.find(name); i >= 0 {
		(*fs)[i].b = b
		return nil
	}
	*fs = append(*fs, checkpointFile{name, b})
	return nil
}

// Remove removes a file.
func (fs *files) Remove(name string) error {
	i := fs.find(name)
	*fs = slices.Delete(*fs, i, i+1)
	return nil
}

// Sync has nothing to do: a host that goes down loses parts of the journal alone.
func (fs *files) Sync() error { return nil }

// damage flips a bit of a checkpoint.
func (fs *files) damage(r *rand.Rand) bool {
	if len(*fs) == 0 {
		return false
	}
	f := &(*fs)[r.IntN(len(*fs))]
	f.b = bytes.Clone(f.b)
	f.b[r.IntN(len(f.b))] ^= 1 << r.IntN(8)
	return true
}

// headerSize is that of a journal: to lose it is another failure than to lose the end.
const headerSize = 12

// tear leaves of the journal what a crash leaves: the end is missing, or is something else. Of the checkpoints some were written, and one may be
// damaged.
func (d *disk) tear(r *rand.Rand) error {
	size, err := d.written()
	if err = cmp.Or(err, d.write(r.IntN(len(d.keeping)+1))); err != nil {
		return err
	}
	d.keeping = nil
	if r.IntN(4) == 0 && d.files.damage(r) {
		d.damaged = true
	}
	safe := d.safe
	if !d.durable && r.IntN(4) == 0 { // the host went down
		safe = r.IntN(safe + 1)
	}
	end := safe + pick(r, 0, size-safe, r.IntN(size-safe+1))
	b := bytes.Clone(d.file.b[:end]) // readers have the old one
	rubbish := r.IntN(4)
	if end < headerSize {
		rubbish = 3
	}
	switch rubbish {
	case 0:
		b = append(b, make([]byte, r.IntN(50))...)
	case 1:
		for range r.IntN(50) {
			b = append(b, byte(r.Uint64()))
		}
	case 2:
		first := max(safe, headerSize)
		for range r.IntN(4) {
			if first < end {
				b[first+r.IntN(end-first)] ^= 1 << r.IntN(8)
			}
		}
	}
	d.file = file{b: b}
	return nil
}

// reopen has the journal go on at an offset, with the effects that its last entry lacks.
func (d *disk) reopen(clients int, offset, entries int64, missing []metasim.Effect) error {
	d.writer = journal.NewWriter(&d.file)
	d.entries, d.synced, d.safe = entries, entries, int(offset)
	d.kept = past.NewCheckpoints(d.files, 1)
	return cmp.Or(d.kept.Forget(clients, offset), d.writer.Continue(offset, missing))
}

var _ io.Seeker = (*file)(nil)
