package client

import "metasim/client/internal/sched"

// NewScheduler returns a scheduler without clients.
func NewScheduler() *Scheduler { return &Scheduler{sched.New()} }

// Go runs f as a coroutine. It is given an option for Complete; f makes at most one client with it, and ends when that has
// ended.
func (s *Scheduler) Go(f func(scheduled Option)) {
	s.tasks.Go(func(t *sched.Task) { f(func(o *options) { o.task = t }) })
}

// Wait waits until all that was begun with Go has ended.
func (s *Scheduler) Wait() { s.tasks.Wait() }

// Served tells the scheduler that the server of its clients is in this process. The function that it returns is to be
// called, as server.Config.After, whenever clients may have got packets. If no worker is awake and canRun is true, the
// function resumes the clients on the caller's goroutine, so that no worker need be woken. It leaves clients that compute
// for long to the workers. Call Served before Go.
func (s *Scheduler) Served() (after func(canRun bool)) {
	s.tasks.ExpectAssist()
	return s.tasks.Assist
}
