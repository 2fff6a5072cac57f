package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"metasim/internal/problem"
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

// ReadFile reads a whole scenario file. What is wrong with the file is an *problem.Invalid, as it is the scenario's fault.
func ReadFile(file string) ([]byte, error) {
	wrong := func(format string, args ...any) error {
		return &problem.Invalid{Problems: []problem.Problem{{File: file, Message: fmt.Sprintf(format, args...)}}}
	}
	info, err := os.Stat(file)
	switch {
	case os.IsNotExist(err):
		return nil, wrong("there is no such file; check the path")
	case err != nil:
		return nil, wrong("cannot be read (%v); check the path and its permissions", err)
	case info.IsDir():
		return nil, wrong("is a directory; name the *.metasim.yaml file in it")
	case !info.Mode().IsRegular():
		return nil, wrong("is no regular file; copy the scenario into a file first")
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, wrong("cannot be read (%v); check its permissions", err)
	}
	text, err := readUpTo(f, maxBytes)
	if err != nil {
		return nil, wrong("cannot be read (%v); try again", err)
	}
	return text, nil
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
		text := fmt.Sprintf("there is no file %q below the %s's directory; check the path", name, cmp.Or(d.of, "scenario"))
		return &fileError{text, fs.ErrNotExist}
	case errors.Is(err, fs.ErrPermission):
		return &fileError{fmt.Sprintf("%q may not be read; check its permissions", name), fs.ErrPermission}
	case !d.outside && strings.Contains(err.Error(), "escapes"):
		return fmt.Errorf("%q lies outside of the %s's directory; move it below, or use --allow-outside", name, cmp.Or(d.of, "scenario"))
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
		return found, checkInterpreter(found, command)
	case errors.Is(err, fs.ErrPermission):
		return "", fmt.Errorf("%q may not be executed; make it executable (chmod +x)", command)
	case isDirectory(file):
		return "", fmt.Errorf("%q is a directory; name the program in it", command)
	case filepath.Base(command) != command:
		return "", fmt.Errorf("there is no program %q; build it, or mend the path, which is relative to the scenario",
			command)
	}
	return "", fmt.Errorf("there is no program %q in PATH; install it, or write ./%[1]s for one beside the scenario",
		command)
}

func isDirectory(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.IsDir() && strings.ContainsRune(file, filepath.Separator)
}

// checkInterpreter returns an error that names the interpreter of a script, where it is missing: the system's own error is that
// the script is. A file that cannot be read is no script.
func checkInterpreter(program, command string) error {
	info, err := os.Stat(program)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := os.Open(program)
	if err != nil {
		return nil
	}
	text, err := io.ReadAll(io.LimitReader(f, maxInterpreter))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil
	}
	line, isScript := strings.CutPrefix(string(text), "#!")
	if line, _, _ = strings.Cut(line, "\n"); !isScript {
		return nil
	}
	words := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
	if len(words) == 0 {
		return fmt.Errorf("%q begins with #! and names no interpreter; write one, such as #!/bin/sh", command)
	}
	if _, err := os.Stat(words[0]); !filepath.IsAbs(words[0]) || !errors.Is(err, fs.ErrNotExist) {
		return checkEnv(words, command)
	}
	if name, windows := strings.CutSuffix(words[0], "\r"); windows {
		return fmt.Errorf("%q has line ends of Windows, so its interpreter is looked for as %q instead of %s; save it with line ends of Unix",
			command, words[0], name)
	}
	return fmt.Errorf(noInterpreter, command, words[0])
}

// noInterpreter is what is wrong with a script whose interpreter is missing.
const noInterpreter = "%q is a script for %s, and there is no such program; install it, or mend the first line of the script"

// checkEnv looks up the interpreter of a script that leaves that to env: #!/usr/bin/env python3, or #!/usr/bin/env -S python3 -u.
func checkEnv(words []string, command string) error {
	if filepath.Base(words[0]) != "env" || len(words) < 2 {
		return nil
	}
	if words = words[1:]; words[0] == "-S" && len(words) > 1 {
		words = words[1:]
	}
	name := strings.TrimSuffix(words[0], "\r")
	if strings.ContainsAny(name, "-=/\\\"'$") { // an option, an assignment or a path is for env to understand
		return nil
	}
	if _, err := exec.LookPath(name); !errors.Is(err, exec.ErrNotFound) {
		return nil
	}
	return fmt.Errorf(noInterpreter, command, name+" in PATH")
}

// maxInterpreter is how much of a script Linux reads to find its interpreter.
const maxInterpreter = 256

// within returns the path that a path of the scenario stands for.
func within(dir, name string) string {
	if name = filepath.FromSlash(name); filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}
