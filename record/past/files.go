package past

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"metasim/internal/atomicfile"
	"metasim/record/journal"
)

// Files are those of the checkpoints of a run. Read fails with fs.ErrNotExist where there is none of this name. Write writes a file whole or not
// at all, and returns when it has reached the disk. After Sync what was removed stays removed.
type Files interface {
	Read(name string) ([]byte, error)
	Write(name string, b []byte) error
	Remove(name string) error
	Sync() error
}

// A Directory is the directory "checkpoints" of a run.
type Directory string

var _ Files = Directory("")

// In returns the directory of a run. It need not be there.
func In(run journal.Dir) Directory { return Directory(run.File("checkpoints")) }

func (d Directory) path(name string) string { return filepath.Join(string(d), name) }

// Read implements Files.
func (d Directory) Read(name string) ([]byte, error) { return os.ReadFile(d.path(name)) }

// Write implements Files.
func (d Directory) Write(name string, b []byte) error {
	if err := os.MkdirAll(string(d), 0o700); err != nil {
		return err
	}
	f, err := atomicfile.Create(d.path(name), 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = f.Commit()
	}
	return errors.Join(err, f.Discard()) // after Commit there is nothing to discard
}

// Remove implements Files.
func (d Directory) Remove(name string) error { return os.Remove(d.path(name)) }

// Sync implements Files.
func (d Directory) Sync() error {
	dir, err := os.Open(string(d))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// RemoveAll removes all of them: the run has ended.
func (d Directory) RemoveAll() error { return os.RemoveAll(string(d)) }
