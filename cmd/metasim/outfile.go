package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// An outFile is written under another name, and gets its own when it is whole: a file under that name is never half of
// one. What is no ordinary file, as /dev/stdout, is written to as it is.
type outFile struct {
	*os.File
	path   string
	direct bool
	done   bool
}

// createFile begins a file. It must not lie in the run that it is made of: that belongs to the run.
func createFile(path, runDir string) (*outFile, error) {
	inside, err := within(path, runDir)
	if err != nil {
		return nil, err
	}
	if inside {
		return nil, fmt.Errorf("%s would lie in the directory of the run, which holds what the run has left; name another place", path)
	}
	return newOutFile(path)
}

// newOutFile begins a file, wherever it lies.
func newOutFile(path string) (*outFile, error) {
	f := &outFile{path: path}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		f.direct = true
	}
	name := path
	if !f.direct {
		name += ".partial"
	}
	var err error
	f.File, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	return f, err
}

// within reports whether a file would lie directly in a directory.
func within(path, dir string) (bool, error) {
	a, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return false, err
	}
	b, err := os.Stat(dir)
	return err == nil && os.SameFile(a, b), err
}

// keep ends the file.
func (f *outFile) keep() error {
	f.done = true
	if err := f.File.Close(); err != nil || f.direct {
		return err
	}
	return os.Rename(f.Name(), f.path)
}

// discard forgets the file, unless it was kept.
func (f *outFile) discard() error {
	if f.done {
		return nil
	}
	f.done = true
	err := f.File.Close()
	if !f.direct {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
