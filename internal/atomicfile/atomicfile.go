// Package atomicfile writes files that are never seen half written: a file gets its name when it is complete.
//
// github.com/google/renameio does the same, but what it has for Windows neither replaces a file atomically nor writes it piece by
// piece, and metasim builds and records runs there too.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// A File is being written as path.partial. Commit gives it its own name, Discard removes it. What is not an ordinary file, as
// /dev/stdout, is written to directly.
type File struct {
	*os.File
	path   string
	direct bool
	ended  bool
}

// Create begins a file, which replaces one of this name when it is committed.
func Create(path string, perm fs.FileMode) (*File, error) {
	f := &File{path: path}
	name := path + ".partial"
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		f.direct, name = true, path
	}
	var err error
	f.File, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, perm)
	return f, err
}

// Path returns the name that the file gets.
func (f *File) Path() string { return f.path }

// Commit closes the file and gives it its name. Call Sync before where the file must outlive a crash of the machine.
func (f *File) Commit() error {
	f.ended = true
	err := f.Close()
	if f.direct {
		return err
	}
	if err == nil {
		err = os.Rename(f.Name(), f.path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

// Discard closes the file and removes it. After Commit or Discard it does nothing.
func (f *File) Discard() error {
	if f.ended {
		return nil
	}
	f.ended = true
	err := f.Close()
	if !f.direct {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}

// Write writes a whole file.
func Write(path string, content []byte, perm fs.FileMode) error {
	f, err := Create(path, perm)
	if err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		return errors.Join(err, f.Discard())
	}
	return f.Commit()
}

// WriteSync writes a whole file, which outlives a crash of the machine once WriteSync has returned: the name, too, is on the disk then.
func WriteSync(path string, content []byte, perm fs.FileMode) error {
	f, err := Create(path, perm)
	if err != nil {
		return err
	}
	if _, err = f.Write(content); err == nil {
		err = f.Sync()
	}
	if err != nil {
		return errors.Join(err, f.Discard())
	}
	if err := f.Commit(); err != nil || runtime.GOOS == "windows" { // which syncs no directories
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
