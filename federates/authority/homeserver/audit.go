package homeserver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// An auditLog is a file to whose end lines are written. Before it would have more bytes than it may, it becomes the first of the older ones (its name and ".1"), those go
// one further, and the oldest goes.
type auditLog struct {
	path string
	file *os.File
	size int64
	most int64 // bytes of a file; 0: any
	keep int   // older files
}

func openAudit(path string, most int64, keep int) (*auditLog, error) {
	a := &auditLog{path: path, most: most, keep: keep}
	return a, a.open()
}

func (a *auditLog) open() error {
	file, err := os.OpenFile(a.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	at, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	a.file, a.size = file, at.Size()
	return nil
}

// Write writes whole lines. Where the files cannot be moved on, the lines are written all the same, and the error says why not.
func (a *auditLog) Write(lines []byte) (n int, err error) {
	if a.most > 0 && a.size > 0 && a.size+int64(len(lines)) > a.most {
		err = a.rotate()
	}
	if a.file == nil {
		return 0, err
	}
	n, wrong := a.file.Write(lines)
	a.size += int64(n)
	return n, errors.Join(err, wrong)
}

// rotate begins a new file. What a tool has truncated meanwhile goes on.
func (a *auditLog) rotate() error {
	if at, err := a.file.Stat(); err == nil && at.Size() < a.size {
		a.size = at.Size()
		return nil
	}
	err := a.file.Close() // an open file cannot be renamed everywhere
	a.file = nil
	for i := a.keep; i > 0 && err == nil; i-- {
		if err = os.Rename(a.older(i-1), a.older(i)); errors.Is(err, fs.ErrNotExist) {
			err = nil // so many there are not yet
		}
	}
	if err != nil {
		err = fmt.Errorf("%w; free %s, or make its directory writable", err, a.older(1))
	}
	return errors.Join(err, a.open())
}

// older is the name of the i-th older file; 0 is that of the file itself.
func (a *auditLog) older(i int) string {
	if i == 0 {
		return a.path
	}
	return fmt.Sprint(a.path, ".", i)
}

func (a *auditLog) Close() error { return a.file.Close() }
