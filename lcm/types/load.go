package types

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Load returns the types of all .lcm files in directories and below them; a path may also be a file. The files may refer to
// one another. All that is wrong in them is returned at once, as a *[problem.Invalid].
func Load(paths ...string) (*Set, error) {
	l := loader{seen: map[string]bool{}}
	for _, path := range paths {
		found, err := l.path(path)
		if err != nil {
			return nil, err
		}
		if found == 0 {
			return nil, fmt.Errorf("%s: no file there ends in .lcm; name the directory that has them", path)
		}
	}
	return newSet(l.files...)
}

// A loader collects files.
type loader struct {
	files []source
	seen  map[string]bool // paths, so that directories may overlap
	total int64           // bytes
}

// path reads a file, or all .lcm files of a directory, and returns how many there are. It does not follow symbolic links to
// directories.
func (l *loader) path(path string) (found int, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, about(path, err)
	}
	if !info.IsDir() {
		return 1, l.file(path)
	}
	err = fs.WalkDir(os.DirFS(path), ".", func(name string, d fs.DirEntry, err error) error {
		name = filepath.Join(path, filepath.FromSlash(name))
		if err != nil {
			return about(name, err)
		}
		if d.IsDir() || filepath.Ext(name) != ".lcm" {
			return nil
		}
		found++
		return l.file(name)
	})
	return found, err
}

// file reads one file, unless it is too large.
func (l *loader) file(name string) error {
	name = filepath.Clean(name)
	if l.seen[name] {
		return nil
	}
	l.seen[name] = true
	if len(l.files) == maxFiles {
		return fmt.Errorf("%s: there are more than %d .lcm files; name fewer directories", name, maxFiles)
	}
	info, err := os.Stat(name)
	if err != nil {
		return about(name, err)
	}
	if !info.Mode().IsRegular() { // to read a pipe would wait
		return fmt.Errorf("%s: this is no regular file; remove it, or name another directory", name)
	}
	if l.total += info.Size(); l.total > maxTotal {
		return fmt.Errorf("%s: the .lcm files have more than %d bytes; name fewer directories", name, maxTotal)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return about(name, err)
	}
	l.files = append(l.files, source{name, text})
	return nil
}

// about adds the name of the file to an error of the system, once, in the place of the call that failed.
func about(name string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return fmt.Errorf("%s: %w", name, err)
}
