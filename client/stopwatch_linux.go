package client

import (
	"os"
	"path/filepath"
)

// taskDir lists the threads of this process.
const taskDir = "/proc/self/task"

// coreWait returns for how long the threads of the process were ready to compute and had no core, summed over them, in nanoseconds; false where
// it is not known. The sum never falls: what a thread waited after its last look, and before it ended, is missing.
func (t *threads) coreWait() (sum int64, known bool) {
	if t.dir == nil {
		dir, err := os.Open(taskDir)
		if err != nil {
			return 0, false
		}
		t.dir, t.all = dir, map[string]*thread{}
	}
	if _, err := t.dir.Seek(0, 0); err != nil {
		return 0, false
	}
	names, err := t.dir.Readdirnames(-1)
	if err != nil {
		return 0, false
	}
	for _, name := range names {
		known = t.look(name) || known
	}
	return t.sum, known
}

// look adds for how long one thread has waited since the last look. It returns false if that is not known, or if the thread has ended.
func (t *threads) look(name string) bool {
	one := t.all[name]
	if one == nil {
		file, err := os.Open(filepath.Join(taskDir, name, "schedstat"))
		if err != nil {
			return false
		}
		one = &thread{file: file}
		t.all[name] = one
	}
	var text [64]byte
	n, err := one.file.ReadAt(text[:], 0)
	if n == 0 && err != nil {
		_ = one.file.Close() // it was only read
		delete(t.all, name)
		return false
	}
	waited, known := secondNumber(text[:n])
	t.sum += waited - one.waited
	one.waited = waited
	return known
}

// secondNumber returns the second of the three numbers of a schedstat: the time on a core, the time without one, and a count.
func secondNumber(text []byte) (number int64, known bool) {
	field := 0
	for _, b := range text {
		switch {
		case b == ' ':
			field++
		case field == 1:
			number = 10*number + int64(b-'0')
		}
	}
	return number, field > 1
}

// close closes the files.
func (t *threads) close() {
	for _, one := range t.all {
		_ = one.file.Close() // it was only read
	}
	if t.dir != nil {
		_ = t.dir.Close() // the same
	}
	*t = threads{}
}
