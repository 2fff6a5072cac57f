package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"time"
)

// profile writes a CPU profile to a file until stop is called. No path: no profile.
func profile(path string) (stop func() error, err error) {
	if path == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}

// profilePath is the file for the profile of a process; empty: there is to be none.
func (h *harness) profilePath(process string) string {
	if h.Profile == "" {
		return ""
	}
	return filepath.Join(h.Profile, process+".pprof")
}

// A processGroup is the processes of one measurement.
type processGroup []child

// A child is a process, with what it writes to stderr.
type child struct {
	*exec.Cmd
	stdin  io.Closer
	stderr *bytes.Buffer
}

// start starts a process for a job. It ends with the context at the latest.
func (h *harness) start(ctx context.Context, all *processGroup, j job) error {
	if len(h.Self) == 0 {
		return errors.New("Options.Self does not say how to start another process")
	}
	if j.Kind == clientsJob {
		j.Profile = h.profilePath(fmt.Sprintf("clients-%d", len(*all)))
	}
	spec, err := json.Marshal(j)
	if err != nil {
		return err
	}
	c := child{exec.CommandContext(ctx, h.Self[0], h.Self[1:]...), nil, new(bytes.Buffer)}
	c.WaitDelay, c.Stderr = time.Second, c.stderr
	in, err := c.StdinPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	c.stdin = in
	*all = append(*all, c)
	_, err = in.Write(append(spec, '\n'))
	return err
}

// wait ends the inputs and waits for all.
func (all processGroup) wait() error {
	var errs []error
	for _, c := range all {
		_ = c.stdin.Close() // fails only if the process has ended, and Wait tells how
		if err := c.Wait(); err != nil {
			errs = append(errs, fmt.Errorf("a child: %w: %s", err, bytes.TrimSpace(c.stderr.Bytes())))
		}
	}
	return errors.Join(errs...)
}

// burnUntilEOF keeps a processor busy until the input ends.
func burnUntilEOF(in io.Reader) error {
	over := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, in)
		over <- err
	}()
	for {
		select {
		case err := <-over:
			return err
		default:
			burn(time.Millisecond)
		}
	}
}

// burn keeps a processor busy for d of wall-clock time.
func burn(d time.Duration) {
	for began := time.Now(); time.Since(began) < d; {
	}
}
