package dst

import (
	"bytes"
	"io"
	"math/rand/v2"

	"metasim/metasim"
	"metasim/record/journal"
)

func newDisk(r *rand.Rand) *disk {
	d := &disk{durable: r.IntN(2) == 0, lazy: pick(r, 0, 90, 99)}
	d.writer = journal.NewWriter(&d.file)
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

// own opens the journal, as far as it is there, for what it holds of a client.
func (d *disk) own(id metasim.ClientID) (*journal.Own, error) {
	size, err := d.written()
	return journal.NewOwn(bytes.NewReader(d.file.b[:size:size]), id), err
}

// headerSize is that of a journal: to lose it is another failure than to lose the end.
const headerSize = 12

// tear leaves of the journal what a crash leaves: the end is missing, or is something else.
func (d *disk) tear(r *rand.Rand) error {
	size, err := d.written()
	if err != nil {
		return err
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
		if first := max(safe, headerSize); first < end {
			b[first+r.IntN(end-first)] ^= 1 << r.IntN(8)
		}
	}
	d.file = file{b: b}
	return nil
}

// reopen has the journal go on at an offset, with the effects that its last entry lacks.
func (d *disk) reopen(offset, entries int64, missing []metasim.Effect) error {
	d.writer = journal.NewWriter(&d.file)
	d.entries, d.synced, d.safe = entries, entries, int(offset)
	return d.writer.Continue(offset, missing)
}

var _ io.Seeker = (*file)(nil)
