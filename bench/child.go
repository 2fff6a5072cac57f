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

	"metasim/client"
	"metasim/wire"
	"metasim/wire/transport/all"
)

// A job is what another process is told to do.
type job struct {
	Kind    string // see Child
	URL     string
	Token   string
	Parts   []portable
	Packed  bool   // the clients share a connection
	Count   int    // connections
	Size    int    // bytes of a message
	Profile string // a file
}

// The kinds of job.
const (
	clientsJob = "clients" // take part in a run
	echoJob    = "echo"    // raw: return what comes
	lockJob    = "lock"    // raw: the clients of a lock step
	burnJob    = "burn"    // compute nothing until the input ends
)

// Child does the job on in: it is what Options.Self must come down to, with its standard input.
func Child(ctx context.Context, in io.Reader) (err error) {
	var j job
	if err := json.NewDecoder(in).Decode(&j); err != nil {
		return fmt.Errorf("a child is given its job on its standard input: %w", err)
	}
	stop, err := profile(j.Profile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	switch j.Kind {
	case clientsJob:
		parts, err := unpack(j.Parts)
		if err != nil {
			return err
		}
		there := func(ctx context.Context) (wire.Conn, error) { return all.Table().Dial(ctx, j.URL) }
		d := door{dial: there, token: j.Token, packed: j.Packed}
		if j.Packed {
			d.crew = client.NewScheduler()
		}
		return d.perform(ctx, parts)
	case echoJob:
		return echoRaw(ctx, j)
	case lockJob:
		return lockClients(ctx, j)
	case burnJob:
		return burnUntilEOF(in)
	}
	return fmt.Errorf("a child knows no job %q", j.Kind)
}

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

// A children is the processes of one measurement.
type children struct {
	cmds   []*exec.Cmd
	stdins []io.Closer
	errs   []*bytes.Buffer
}

// start starts a process for a job. It ends with the context at the latest.
func (h *harness) start(ctx context.Context, all *children, j job) error {
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
	said := new(bytes.Buffer)
	cmd.Stderr = said
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	all.cmds, all.stdins, all.errs = append(all.cmds, cmd), append(all.stdins, in), append(all.errs, said)
	_, err = in.Write(append(spec, '\n'))
	return err
}

// wait ends the inputs and waits for all.
func (all *children) wait() error {
	var errs []error
	for i, cmd := range all.cmds {
		// A process that has ended has closed it already.
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

// burn computes nothing for d of wall-clock time.
func burn(d time.Duration) {
	for began := time.Now(); time.Since(began) < d; {
	}
}
