package client

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// taskDir lists the threads of this process.
const taskDir = "/proc/self/task"

// mark remembers for how long each thread of the process has waited and computed so far, and which of them the caller is on. It returns false
// where that is not known.
func (t *threads) mark() (known bool) {
	if t.dir == nil {
		dir, err := os.Open(taskDir)
		if err != nil {
			return false
		}
		t.dir, t.all = dir, map[string]*thread{}
	}
	if _, err := t.dir.Seek(0, 0); err != nil {
		return false
	}
	names, err := t.dir.Readdirnames(-1)
	if err != nil {
		return false
	}
	for _, name := range names {
		_, _, looked := t.look(name)
		known = looked || known
	}
	t.marked = strconv.Itoa(syscall.Gettid())
	if _, looked := t.lookAtOwn(t.marked); !looked {
		return false
	}
	return known
}

// sinceMark returns for how long the caller was ready to compute since the mark, and had no core, and how much processor time it took, in
// nanoseconds: those of the thread on which it was at the mark, and of the thread on which it is now. What other threads wait and compute
// is not the caller's: it may sleep meanwhile.
func (t *threads) sinceMark() (waited, spent int64) {
	now := strconv.Itoa(syscall.Gettid())
	if now != t.marked {
		waited, spent, _ = t.look(t.marked)
	}
	more, took, _ := t.look(now)
	rest, _ := t.lookAtOwn(now)
	return waited + more, spent + took + rest
}

// look returns for how long one thread has waited and computed since the last look; false if that is not known, or if the thread has ended.
func (t *threads) look(name string) (waited, spent int64, known bool) {
	one := t.all[name]
	if one == nil {
		file, err := os.Open(filepath.Join(taskDir, name, "schedstat"))
		if err != nil {
			return 0, 0, false
		}
		one = &thread{file: file}
		t.all[name] = one
	}
	var text [64]byte
	n, err := one.file.ReadAt(text[:], 0)
	if n == 0 && err != nil {
		_ = one.file.Close() // it was only read
		delete(t.all, name)
		return 0, 0, false
	}
	now := thread{file: one.file}
	now.spent, now.waited, known = numbers(text[:n])
	now.spent = max(now.spent, one.spent) // lookAtOwn may have seen more
	waited, spent = now.waited-one.waited, now.spent-one.spent
	*one = now
	return waited, spent, known
}

// lookAtOwn returns how much processor time the caller's thread, whose name this is, has taken since the last look: schedstat lacks what a
// thread takes since it has a core.
func (t *threads) lookAtOwn(name string) (spent int64, known bool) {
	one := t.all[name]
	var u syscall.Rusage
	const ofThread = 1 // RUSAGE_THREAD
	if one == nil || syscall.Getrusage(ofThread, &u) != nil {
		return 0, false
	}
	now := max(one.spent, u.Utime.Nano()+u.Stime.Nano())
	spent, one.spent = now-one.spent, now
	return spent, true
}

// numbers returns the first two numbers of a schedstat: the time on a core, and the time without one. A count follows.
func numbers(text []byte) (spent, waited int64, known bool) {
	var all [3]int64
	field := 0
	for _, b := range text {
		switch {
		case b == ' ':
			field++
		case b >= '0' && b <= '9' && field < len(all):
			all[field] = 10*all[field] + int64(b-'0')
		}
	}
	return all[0], all[1], field > 1
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
