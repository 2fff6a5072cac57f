package journal

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"metasim/internal/atomicfile"
	"metasim/internal/filelock"
)

// The files that this package writes into the directory of a run. There are others.
const (
	manifestFile = "manifest.json"
	journalFile  = "journal"
	indexFile    = "index"
)

// maxManifest bounds what is read of a manifest: 64 MiB.
const maxManifest = 64 << 20

// A Dir is the directory of a run. It and its files are for this user alone: payloads, results and the output of programs may hold
// what is nobody else's business.
type Dir struct {
	path string
	made []string // the directories that were made for it, the outermost first
}

const (
	dirMode  = 0o700
	fileMode = 0o600
)

// makeAll makes a directory and those above it. It returns those that did not exist.
func makeAll(path string, mode fs.FileMode) (made []string, err error) {
	info, err := os.Stat(path)
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "mkdir", Path: path, Err: syscall.ENOTDIR}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if parent := filepath.Dir(path); parent != path {
		if made, err = makeAll(parent, 0o755); err != nil {
			return made, err
		}
	}
	if err := os.Mkdir(path, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return made, err
	}
	return append(made, path), nil
}

// Create makes the directory of a new run, and those above it. One that exists must be empty.
func Create(path string) (Dir, error) {
	made, err := makeAll(path, dirMode)
	if err != nil {
		return Dir{}, fmt.Errorf("the directory of the run cannot be made: %w; name another one with --out", err)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return Dir{}, fmt.Errorf("reading the directory of the run: %w", err)
	}
	if len(entries) > 0 {
		return Dir{}, fmt.Errorf("%s is not empty; a run needs a directory of its own, so name another", path)
	}
	return Dir{path, made}, nil
}

// Remove removes the directory of a run that did not begin, and the directories above it that were made for it. If the directory was
// there before, Remove only empties it.
func (d Dir) Remove() error {
	entries, err := os.ReadDir(d.path)
	errs := []error{err}
	for _, e := range entries {
		errs = append(errs, os.RemoveAll(d.File(e.Name())))
	}
	for _, path := range slices.Backward(d.made) {
		if err := os.Remove(path); path == d.path {
			errs = append(errs, err) // those above it may hold other runs by now
		}
	}
	return errors.Join(errs...)
}

// NextDir makes the directory root/name-<n> of a new run, where n is one more than the largest that exists, from 1. Runs that begin
// at the same time get different directories.
func NextDir(root, name string) (Dir, error) {
	if !filepath.IsLocal(name) || name != filepath.Base(name) || name == "." {
		return Dir{}, fmt.Errorf("a run cannot be called %q; use letters, digits, '-', '_' and '.'", name)
	}
	made, err := makeAll(root, 0o755)
	if err != nil {
		return Dir{}, fmt.Errorf("making the directory of runs: %w", err)
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return Dir{}, fmt.Errorf("reading the directory of runs: %w", err)
	}
	next := 1
	for _, e := range entries {
		if digits, ok := strings.CutPrefix(e.Name(), name+"-"); ok {
			if n, err := strconv.Atoi(digits); err == nil && n >= next && strconv.Itoa(n) == digits {
				next = n + 1
			}
		}
	}
	for ; ; next++ {
		path := filepath.Join(root, name+"-"+strconv.Itoa(next))
		switch err := os.Mkdir(path, dirMode); {
		case err == nil:
			return Dir{path, append(made, path)}, nil
		case !errors.Is(err, fs.ErrExist):
			return Dir{}, fmt.Errorf("the directory of the run cannot be made: %w; name another one with --out", err)
		}
	}
}

// Open returns the directory of an existing run. It must have a manifest or a journal.
func Open(path string) (Dir, error) {
	d := Dir{path: path}
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return Dir{}, fmt.Errorf("%s is no run, it is a file; name a directory that metasim run has made", path)
	}
	for _, file := range []string{manifestFile, journalFile} {
		switch _, err := os.Stat(d.File(file)); {
		case err == nil:
			return d, nil
		case !errors.Is(err, fs.ErrNotExist):
			return Dir{}, fmt.Errorf("opening a run: %w", err)
		}
	}
	return Dir{}, fmt.Errorf("%s is no run: it has neither %s nor %s; "+
		"name a directory that metasim run has made", path, manifestFile, journalFile)
}

// Path returns the path of the directory.
func (d Dir) Path() string { return d.path }

// File returns the path of a file in it.
func (d Dir) File(name string) string { return filepath.Join(d.path, name) }

// NewJournal makes the journal of the run, which must not exist. Names are those of the clients. Close the writer to close the file and
// to write the index.
func (d Dir) NewJournal(names []string) (*Writer, error) {
	f, err := os.OpenFile(d.File(journalFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
	if err != nil {
		return nil, fmt.Errorf("making the journal: %w", err)
	}
	if !filelock.Take(f) {
		return nil, errors.Join(fmt.Errorf("making the journal: %w", ErrGoesOn), f.Close())
	}
	w := NewWriter(locked{f})
	w.index, w.save = newIndexer(names), d.writeIndex
	return w, nil
}

// Reopen opens the journal of a run that was cut off, to be continued: call Continue before the first Observe. It fails with ErrGoesOn if the run
// goes on. The writer does not write an index. A reader that
// needs an index makes it from the journal.
func (d Dir) Reopen() (*Writer, error) {
	f, err := os.OpenFile(d.File(journalFile), os.O_RDWR, fileMode)
	if err != nil {
		return nil, d.unopened(err)
	}
	if !filelock.Take(f) {
		return nil, errors.Join(fmt.Errorf("opening the journal: %w", ErrGoesOn), f.Close())
	}
	if err := os.Remove(d.File(indexFile)); err != nil && !errors.Is(err, fs.ErrNotExist) { // it is that of the journal as it was
		return nil, errors.Join(fmt.Errorf("removing the index of the journal: %w", err), filelock.Close(f))
	}
	return NewWriter(locked{f}), nil
}

// A locked file is a journal that is being written.
type locked struct{ *os.File }

func (l locked) Close() error { return filelock.Close(l.File) }

// OpenJournal opens the journal of the run. Names are those of the clients: the reader fails with ErrForeign at an entry with another
// client; with nil it takes any. Close the reader to close the file. It fails with ErrNoJournal where the run was carried out
// without a journal.
func (d Dir) OpenJournal(names []string) (*Reader, error) {
	f, err := d.open(journalFile)
	if err != nil {
		return nil, d.unopened(err)
	}
	r := NewReader(f, names)
	r.file = f.Name()
	return r, nil
}

// A beginning is the first bytes of a file.
type beginning struct {
	io.Reader
	io.Closer
}

// open opens a file of the run, which must be a regular file: to open a named pipe would wait for who writes into it.
func (d Dir) open(name string) (*os.File, error) {
	path := d.File(name)
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file of a run, but something else (%s)", path, info.Mode())
	}
	return os.Open(path)
}

// read reads such a file.
func (d Dir) read(name string) ([]byte, error) {
	f, err := d.open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // a file that is only read
	return io.ReadAll(f)
}

// unopened says why the journal cannot be opened.
func (d Dir) unopened(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		if m, e := d.Manifest(); e == nil && m.NoJournal {
			return ErrNoJournal
		}
		return fmt.Errorf("%s has no journal any more (%w); carry the run out again", d.path, fs.ErrNotExist)
	}
	return fmt.Errorf("opening the journal: %w", err)
}

// writeIndex writes the index of a complete journal.
func (d Dir) writeIndex(x *Index) error { return d.replace("index", indexFile, x.append(nil)) }

// Index returns the index of the journal. Names are those of the clients. If the index is missing, damaged or not of this journal, as
// after a kill, it is made by reading the journal, and torn is the *[TornError] at which the journal breaks off, if it does.
func (d Dir) Index(names []string) (index *Index, torn, err error) {
	info, err := os.Stat(d.File(journalFile))
	if err != nil {
		return nil, nil, d.unopened(err)
	}
	if x, err := d.ReadIndex(); err == nil && x.Size == info.Size() && len(x.Clients) == len(names) {
		return x, nil, nil
	}
	return d.MakeIndex(names)
}

// ReadIndex reads the index that lies beside the journal. It fails with ErrIndexVersion where it is of another version.
func (d Dir) ReadIndex() (*Index, error) {
	b, err := d.read(indexFile)
	if err != nil {
		return nil, err
	}
	return parseIndex(b)
}

// BreaksOff reports whether a journal is torn as that of a process that was killed, or of a host that went down: the file ends there, it ends
// inside a record, or nothing but zeros follows.
func (d Dir) BreaksOff(torn *TornError) (bool, error) {
	switch torn.Reason {
	case "", endsInRecord, endsInHeader:
		return true, nil
	}
	f, err := d.open(journalFile)
	if err != nil {
		return false, d.unopened(err)
	}
	defer func() { _ = f.Close() }() // a file that is only read
	for rest, buf := io.NewSectionReader(f, torn.Offset, 1<<62), make([]byte, 1<<16); ; {
		n, err := rest.Read(buf)
		switch {
		case len(bytes.Trim(buf[:n], "\x00")) > 0:
			return false, nil
		case errors.Is(err, io.EOF):
			return true, nil
		case err != nil:
			return false, fmt.Errorf("reading the journal: %w", err)
		}
	}
}

// MakeIndex makes the index of the journal by reading it.
func (d Dir) MakeIndex(names []string) (index *Index, torn, err error) {
	r, err := d.OpenJournal(append([]string{}, names...)) // not nil
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = r.Close() }() // a file that was only read
	if index, torn, err = buildIndex(r, names); torn == nil && err == nil {
		torn = r.Unfinished(false)
	}
	return index, torn, err
}

// CheckIndex reports whether an index is that of the journal as it is now. It reads the journal, and no record of it.
func (d Dir) CheckIndex(x *Index) (bool, error) {
	if x.made {
		return true, nil
	}
	f, err := d.open(journalFile)
	if err != nil {
		return false, d.unopened(err)
	}
	defer func() { _ = f.Close() }() // a file that was only read
	sum, size, buf := uint32(0), int64(0), make([]byte, 1<<18)
	for {
		n, err := f.Read(buf)
		sum, size = crc32.Update(sum, castagnoli, buf[:n]), size+int64(n)
		switch {
		case errors.Is(err, io.EOF):
			return sum == x.Sum && size == x.Size, nil
		case err != nil:
			return false, fmt.Errorf("reading the journal: %w", err)
		}
	}
}

// Scan reads a part of the journal, from the record at an offset on. An Index has such offsets. Close the scanner to close the file.
func (d Dir) Scan(offset int64) (*Scanner, error) {
	r, err := d.OpenJournal(nil)
	if err != nil {
		return nil, err
	}
	s, err := newScanner(r, offset)
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return s, nil
}

// WriteManifest writes the manifest of the run, or replaces it. A reader sees the old one or the new one, complete.
func (d Dir) WriteManifest(m *Manifest) error {
	b, err := encodeManifest(m)
	if err != nil {
		return fmt.Errorf("writing the manifest: %w", err)
	}
	return d.replace("manifest", manifestFile, b)
}

// replace writes a file and waits until it is on disk. What is for its name in an error.
func (d Dir) replace(what, file string, b []byte) error {
	f, err := atomicfile.Create(d.File(file), fileMode)
	if err != nil {
		return fmt.Errorf("writing the %s: %w", what, err)
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = f.Commit()
	}
	if err := errors.Join(err, f.Discard()); err != nil { // after Commit there is nothing to discard
		return fmt.Errorf("writing the %s: %w", what, err)
	}
	return nil
}

// Manifest reads the manifest of the run. It fails if the manifest is not as it was written.
func (d Dir) Manifest() (*Manifest, error) {
	m, _, err := d.CheckManifest()
	return m, err
}

// CheckManifest reads the manifest, as Manifest does. checked is false if the manifest has no checksum, as earlier versions wrote none.
func (d Dir) CheckManifest() (m *Manifest, checked bool, err error) {
	info, err := os.Stat(d.File(manifestFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, fmt.Errorf("%s has no manifest (%w), so nothing is known of the run", d.path, fs.ErrNotExist)
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading the manifest: %w", err)
	}
	if info.Size() > maxManifest {
		return nil, false, fmt.Errorf("%s has %d bytes, but a manifest has at most %d; it is something else",
			d.File(manifestFile), info.Size(), maxManifest)
	}
	b, err := d.read(manifestFile)
	if err != nil {
		return nil, false, fmt.Errorf("reading the manifest: %w", err)
	}
	m, checked, err = decodeManifest(b)
	switch {
	case errors.Is(err, errChecksum):
		return nil, false, fmt.Errorf("%s is damaged: %w", d.File(manifestFile), err)
	case err != nil:
		return nil, false, fmt.Errorf("%s is not a manifest: %w; name the directory of a run", d.File(manifestFile), err)
	}
	return m, checked, nil
}
