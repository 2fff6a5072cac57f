package transport

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"time"
)

// privateName is the name of a directory that PrivateDir has made.
var privateName = regexp.MustCompile(`^metasim-[0-9]+$`)

// PrivateDir makes a temporary directory for sockets, for this user alone. It removes those that processes have left that were killed.
func PrivateDir() (string, error) {
	entries, _ := os.ReadDir(os.TempDir()) // without it the next call fails
	for _, e := range entries {
		if dir := filepath.Join(os.TempDir(), e.Name()); e.IsDir() && privateName.MatchString(e.Name()) && stale(dir) {
			_ = os.RemoveAll(dir) // or another process has done it, or does it next time
		}
	}
	return os.MkdirTemp("", "metasim-")
}

// privateDirOf makes the directory of a socket again if it is one that PrivateDir has made; otherwise it returns no directory.
func privateDirOf(socket string) (dir string, err error) {
	dir = filepath.Dir(socket)
	if filepath.Dir(dir) != filepath.Clean(os.TempDir()) || !privateName.MatchString(filepath.Base(dir)) {
		return "", nil
	}
	if err = os.Mkdir(dir, 0o700); errors.Is(err, fs.ErrExist) {
		info, statErr := os.Lstat(dir)
		if err = statErr; err == nil && (!info.IsDir() || info.Mode().Perm() != 0o700) {
			err = fmt.Errorf("%s is not for this user alone; use another path", dir)
		}
	}
	return dir, err
}

// settleTime is the age from which a socket that refuses connections has no process. A younger one may be about to listen.
const settleTime = time.Second

// stale reports whether a directory holds sockets, and no process listens at any of them.
func stale(dir string) bool {
	sockets, err := os.ReadDir(dir)
	if err != nil || len(sockets) == 0 {
		return false
	}
	for _, s := range sockets {
		info, err := s.Info()
		if err != nil || info.Mode().Type() != fs.ModeSocket || time.Since(info.ModTime()) < settleTime {
			return false
		}
		c, err := net.Dial("unix", filepath.Join(dir, s.Name()))
		if err == nil {
			_ = c.Close() // it was only to see whether it can be made
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return false
		}
	}
	return true
}
