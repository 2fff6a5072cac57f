package client

import (
	"time"

	"metasim/client/internal/sched"
	"metasim/wire/session"
)

// write writes what is there, in one write. With a task, whose client then waits, tasks of its scheduler share the write. The
// methods of an outbox are called with its lock.
func (o *outbox) write(task *sched.Task) error {
	packets := o.queue.Packets()
	if o.err == nil && len(packets) > 0 {
		o.wrote = true
		o.err = o.host.write(packets, task)
		o.queue.Written()
	}
	return o.err
}

// writeSoon writes what is urgent at once, and what is not when it has waited for long enough.
func (o *outbox) writeSoon() error {
	if o.queue.Urgent() {
		return o.write(nil)
	}
	if !o.queue.Keeping() {
		o.queue.Keep(o.now())
	}
	if !o.armed {
		o.arm(session.KeepFor)
	}
	return o.err
}

// now reads the queue's clock, in nanoseconds.
func (o *outbox) now() int64 {
	if o.clock.IsZero() {
		o.clock = time.Now()
	}
	return int64(time.Since(o.clock))
}

func (o *outbox) arm(d time.Duration) {
	o.armed = true
	if o.timer == nil {
		o.timer = time.AfterFunc(d, o.expire)
		return
	}
	o.timer.Reset(d)
}

// expire is the timer's, and takes the lock: it writes what has waited for long enough. A timer that was set for packets
// which have been written meanwhile serves those that came after them.
func (o *outbox) expire() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.armed = false
	if !o.queue.Keeping() {
		return
	}
	if left := o.queue.Left(o.now()); left > 0 {
		o.arm(time.Duration(left))
		return
	}
	_ = o.write(nil) // the next write returns it
}
