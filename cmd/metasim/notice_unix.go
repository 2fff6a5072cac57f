//go:build unix

package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// untilNotice returns a context that ends, as by SIGTERM, when SIGUSR1 says that the host is about to be taken away: Slurm warns a job so before its time is
// over, if it was asked to. The run can go on later. Only what carries out a run hears it: a signal to a whole job is also sent to what the run has started.
func untilNotice(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	notice := make(chan os.Signal, 1)
	signal.Notify(notice, syscall.SIGUSR1)
	go func() {
		select {
		case s := <-notice:
			cancel(interrupted{s})
		case <-ctx.Done(): // by another signal
		}
	}()
	return ctx
}
