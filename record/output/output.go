// Package output keeps what a client's process wrote, within a limit. If there is more, it keeps the beginning and the end, and leaves out
// what lies between.
//
// An output is a file with its first bytes, and up to two files beside it with its last ones: "arm.stdout.from-41943040" holds what
// came from byte 41943040 on. As long as nothing is left out, the files one after another are the output.
package output

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// from stands between the name of an output and the position at which a part of its end begins.
const from = ".from-"

// Name is what the files of a client are called: by its name, but each / in it, of a scenario inside of another one, is a +, which no name has.
func Name(client string) string { return strings.ReplaceAll(client, "/", "+") }

// A Writer writes an output. Half of the limit is for the beginning. The end is kept in two parts, each with a quarter of the limit. As
// the older part is removed when a new one begins, at least a quarter of the limit is always kept of the end.
type Writer struct {
	path      string
	limit     int64
	file      *os.File // the part that is written; nil before the first byte
	written   int64
	partFrom  int64  // where the part begins
	older     string // the part before it, if both are of the end
	partLimit int64
}

// Create makes an empty output. The file is opened again at the first byte: most clients write nothing, and there may be many.
func Create(path string, limit int64) (*Writer, error) {
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return nil, err
	}
	return &Writer{path: path, limit: limit, partLimit: limit / 2}, nil
}

// Write writes all of b. It never fails because of the limit.
func (w *Writer) Write(b []byte) (n int, err error) {
	for len(b) > 0 {
		if err := w.part(); err != nil {
			return n, err
		}
		m, err := w.file.Write(b[:min(int64(len(b)), w.partFrom+w.partLimit-w.written)])
		n, b, w.written = n+m, b[m:], w.written+int64(m)
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// part opens the part that the next byte goes to, and removes one that is left out from now on.
func (w *Writer) part() (err error) {
	if w.file != nil && w.written < w.partFrom+w.partLimit {
		return nil
	}
	path := w.path
	if w.file != nil {
		full := w.file.Name()
		if err := w.file.Close(); err != nil {
			return err
		}
		if w.older != "" {
			if err := os.Remove(w.older); err != nil {
				return err
			}
		}
		if full != w.path {
			w.older = full
		}
		w.partFrom, w.partLimit = w.written, w.limit/4
		path += from + strconv.FormatInt(w.written, 10)
	}
	w.file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	return err
}

// Close closes the output.
func (w *Writer) Close() error {
	if w.file == nil {
		return nil
	}
	return w.file.Close()
}

// A part is a file of an output.
type part struct {
	path string
	from int64
}

// A Folder is what a directory of outputs holds: it is listed once for all of them, as there may be thousands.
type Folder struct {
	dir   string
	parts map[string][]part // of the ends, by the name of the output
}

// Look lists a directory of outputs.
func Look(dir string) (*Folder, error) {
	f := &Folder{dir: dir}
	return f, f.look()
}

func (f *Folder) look() error {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return err
	}
	f.parts = map[string][]part{}
	for _, e := range entries {
		if i := strings.LastIndex(e.Name(), from); i >= 0 {
			if n, err := strconv.ParseInt(e.Name()[i+len(from):], 10, 64); err == nil {
				name := e.Name()[:i]
				f.parts[name] = append(f.parts[name], part{filepath.Join(f.dir, e.Name()), n})
			}
		}
	}
	return nil
}

// of lists the files of an output, in order.
func (f *Folder) of(name string) []part {
	all := append([]part{{filepath.Join(f.dir, name), 0}}, f.parts[name]...)
	slices.SortFunc(all, func(a, b part) int { return cmp.Compare(a.from, b.from) })
	return all
}

// Open opens what is kept of an output from a position on, up to the end of one part: the caller goes on where it ends. at is the
// position of the first byte; what lies before it, from position on, is left out. It fails with [io.EOF] where there is nothing
// more in the files that were listed.
func (f *Folder) Open(name string, position int64) (r io.ReadCloser, at int64, err error) {
	for {
		all := f.of(name)
		r, at, err := openPart(all, position)
		if !errors.Is(err, fs.ErrNotExist) || len(all) == 1 {
			return r, at, err
		}
		if err := f.look(); err != nil { // the part was left out in the meantime
			return nil, 0, err
		}
	}
}

func openPart(all []part, position int64) (io.ReadCloser, int64, error) {
	for _, p := range all {
		f, err := os.Open(p.path)
		if err != nil {
			return nil, 0, err
		}
		info, err := f.Stat()
		at := max(position, p.from)
		if err == nil && at < p.from+info.Size() {
			if _, err = f.Seek(at-p.from, io.SeekStart); err == nil {
				return f, at, nil
			}
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, 0, err
		}
	}
	return nil, 0, io.EOF
}

// Tail returns the last bytes of an output, at most n, and whether there is more before them.
func Tail(path string, n int64) (text []byte, more bool, err error) {
	f, err := Look(filepath.Dir(path))
	if err != nil {
		return nil, false, err
	}
	all := f.of(filepath.Base(path))
	last := all[len(all)-1]
	info, err := os.Stat(last.path)
	if err != nil {
		return nil, false, err
	}
	position := max(0, last.from+info.Size()-n)
	for next := position; ; {
		r, at, err := f.Open(filepath.Base(path), next)
		if errors.Is(err, io.EOF) {
			return text[max(0, int64(len(text))-n):], position > 0, nil
		}
		if err != nil {
			return nil, false, err
		}
		b, err := io.ReadAll(io.LimitReader(r, n))
		if err = errors.Join(err, r.Close()); err != nil {
			return nil, false, err
		}
		text, next = append(text, b...), at+int64(len(b))
	}
}
