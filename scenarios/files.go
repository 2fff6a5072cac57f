package scenarios

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// open opens a regular file. It refuses files outside of the directory, unless d.outside is set; os.Root also refuses symbolic
// links that lead out.
func (d directory) open(name string) (io.ReadCloser, error) {
	if strings.ContainsRune(name, 0) {
		return nil, errors.New("has a NUL in it; write the path of a file")
	}
	path, stat, open := filepath.FromSlash(name), os.Stat, os.Open
	if !d.outside {
		root, err := os.OpenRoot(d.path)
		if err != nil {
			return nil, d.explain(name, err)
		}
		defer func() { _ = root.Close() }() // a directory that was only read
		stat, open = root.Stat, root.Open
	} else if !filepath.IsAbs(path) {
		path = filepath.Join(d.path, path)
	}
	info, err := stat(path)
	if err == nil && !info.Mode().IsRegular() { // opening a pipe may block until another process writes into it
		return nil, fmt.Errorf("%q is %s, not a file; name a file", path, fileKind(info))
	}
	var f *os.File
	if err == nil {
		f, err = open(path)
	}
	if err != nil {
		return nil, d.explain(name, err)
	}
	return f, nil
}

// readUpTo reads a file and closes it. Where the file has more bytes than most, it returns most + 1 of them.
func readUpTo(f io.ReadCloser, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f, most+1))
	return data, errors.Join(err, f.Close())
}

func fileKind(info fs.FileInfo) string {
	if info.IsDir() {
		return "a directory"
	}
	return "a device, a pipe or a socket"
}

// explain puts an error of the operating system into words. The error of os.Root for a path that leads out has no type, so it is
// recognized by its text.
func (d directory) explain(name string, err error) error {
	var pathError *fs.PathError
	switch {
	case !errors.As(err, &pathError):
		return err
	case errors.Is(err, fs.ErrNotExist):
		text := fmt.Sprintf("there is no file %q below the scenario's directory; check the path", name)
		return &fileError{text, fs.ErrNotExist}
	case errors.Is(err, fs.ErrPermission):
		return &fileError{fmt.Sprintf("%q may not be read; check its permissions", name), fs.ErrPermission}
	case !d.outside && strings.Contains(err.Error(), "escapes"):
		return fmt.Errorf("%q lies outside of the scenario's directory; move it below, or use --allow-outside", name)
	}
	return fmt.Errorf("%q cannot be read (%w); check the file", name, pathError.Err)
}

// A fileError has a text of our own, and wraps an error of package fs for errors.Is.
type fileError struct {
	text string
	err  error
}

func (e *fileError) Error() string { return e.text }
func (e *fileError) Unwrap() error { return e.err }

// findCommand finds a program. A command with a slash in it is relative to the scenario's directory; any other is looked up in
// PATH.
func findCommand(dir, command string) (string, error) {
	file := filepath.FromSlash(command)
	if strings.ContainsRune(file, filepath.Separator) && !filepath.IsAbs(file) {
		absolute, err := filepath.Abs(filepath.Join(dir, file))
		if err != nil {
			return "", fmt.Errorf("%q has no absolute path (%w); write one", command, err)
		}
		file = absolute
	}
	found, err := exec.LookPath(file)
	switch {
	case err == nil:
		return found, nil
	case errors.Is(err, fs.ErrPermission):
		return "", fmt.Errorf("%q may not be executed; make it executable (chmod +x)", command)
	case filepath.Base(command) != command:
		return "", fmt.Errorf("there is no program %q; build it, or mend the path, which is relative to the scenario",
			command)
	}
	return "", fmt.Errorf("there is no program %q in PATH; install it, or write ./%[1]s for one beside the scenario",
		command)
}

// within returns the path that a path of the scenario stands for.
func within(dir, name string) string {
	if name = filepath.FromSlash(name); filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}
