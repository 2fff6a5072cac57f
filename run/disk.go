package run

import (
	"context"
	"errors"
	"sync"
	"time"
)

// A disk may hang: a network file system whose server is gone, a device that fails. Whoever waits for it in a system call cannot be
// interrupted, so what may wait for the disk of a run is done on goroutines of its own, which an interrupted run leaves behind.

// errDisk is the error of what was not waited for.
var errDisk = errors.New("the disk of the run directory does not answer, so that the record of the run is not whole; see to the disk")

const (
	// slowTime is after how long it is said that a run waits for its disk.
	slowTime = 2 * time.Second
	// hungTime is for how long an interrupted run waits for it.
	hungTime = 2 * time.Second
)

// onDisk does what may wait for a disk. It calls slow if that takes long. When ctx is done it waits for a moment only.
func onDisk(ctx context.Context, slow func(), f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	long, interrupted := time.NewTimer(slowTime), ctx.Done()
	defer long.Stop()
	var hung <-chan time.Time
	for {
		select {
		case err := <-done:
			return err
		case <-long.C:
			slow()
		case <-interrupted:
			hung, interrupted = time.After(hungTime), nil
		case <-hung:
			return errDisk
		}
	}
}

// A glance reads from a disk, and gives up after a moment. While the disk hangs, one goroutine waits for it, however often it is read.
type glance struct{ reading sync.Mutex }

// glanceTime is for how long a glance waits.
const glanceTime = time.Second

// take returns what read returns, or nothing where the disk hangs.
func (g *glance) take(read func() []string) []string {
	if !g.reading.TryLock() {
		return nil
	}
	lines := make(chan []string, 1)
	go func() {
		l := read()
		g.reading.Unlock() // before the caller goes on: it may look again at once
		lines <- l
	}()
	timer := time.NewTimer(glanceTime)
	defer timer.Stop()
	select {
	case l := <-lines:
		return l
	case <-timer.C:
		return nil
	}
}
