package sweep

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"metasim/internal/filelock"
)

const (
	// temporaryName is how the temporary directories of workers are called.
	temporaryName = "metasim-sweep-"
	// lockName is the file in one of them that its worker has locked. The system lets go of the lock when the worker ends, however it does.
	lockName = ".lock"
	// unlockedFor is how old a directory without a locked file is at least when it belongs to nobody: its worker may be about to lock it.
	unlockedFor = time.Minute
)

// temporary makes a directory for the attempts of a worker, and locks it. It removes what workers that were killed have left there.
func temporary(root string) (dir string, lock *os.File, err error) {
	if dir, err = os.MkdirTemp(root, temporaryName); err != nil {
		return "", nil, err
	}
	if lock, err = os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	if filelock.Take(lock) && !isFree(dir) { // else locks say nothing here, and any directory may be in use
		sweepUp(root)
	}
	return dir, lock, nil
}

// sweepUp removes the directories that belong to no worker any more. What cannot be removed, as another user's, stays: nobody needs it to be gone.
func sweepUp(root string) {
	left, _ := filepath.Glob(filepath.Join(root, temporaryName+"*")) // a root with characters of patterns keeps what is left
	for _, dir := range left {
		if isFree(dir) {
			_ = os.RemoveAll(dir) // likewise
		}
	}
}

// isFree reports whether no worker has locked a directory, or is about to.
func isFree(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return time.Since(info.ModTime()) > unlockedFor
	}
	if err != nil {
		return false
	}
	free := filelock.Take(lock)
	_ = filelock.Close(lock) // it was only looked at
	return free
}
