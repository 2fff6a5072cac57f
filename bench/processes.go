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

// A processGroup is the processes of one measurement, with what they write to stderr.
type processGroup struct {
	cmds   []*exec.Cmd
	stdins []io.Closer
	errs   []*bytes.Buffer
}

// start starts a process for a job. It ends with the context at the latest.
func (h *harness) start(ctx context.Context, all *processGroup, j job) error {
	if len(h.Self) == 0 {
		return errors.New("Options.Self does not say how to start another process")
	}
	if h.Profile != "" && j.Kind == clientsJob {
		j.Profile = filepath.Join(h.Profile, fmt.Sprintf("clients-%d.pprof", len(all.cmds)))
	}
	spec, err := json.Marshal(j)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, h.Self[0], h.Self[1:]...)
	cmd.WaitDelay = time.Second
	stderr := new(bytes.Buffer)
	cmd.Stderr = stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	all.cmds, all.stdins, all.errs = append(all.cmds, cmd), append(all.stdins, in), append(all.errs, stderr)
	_, err = in.Write(append(spec, '\n'))
	return err
}

// wait ends the inputs and waits for all.
func (all *processGroup) wait() error {
	var errs []error
	for i, cmd := range all.cmds {
		// It fails where the process has ended.
		_ = all.stdins[i].Close()
		if err := cmd.Wait(); err != nil {
			errs = append(errs, fmt.Errorf("a child: %w: %s", err, bytes.TrimSpace(all.errs[i].Bytes())))
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
