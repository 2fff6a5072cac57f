package replay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"metasim/client"
	"metasim/record"
	"metasim/run"
	"metasim/scenarios"
	"metasim/wire"
	"metasim/wire/transport/mem"
	"metasim/wire/transport/stream"
)

// A player plays a client, from joining to its end.
type player struct {
	name, token string
	listener    wire.Listener
	dir         string // of the listener's socket, to be removed
	play        func(ctx context.Context) error
	patience    time.Duration // how long it may go on when its part is over; 0 for ever: it may be a debugger
}

const (
	// leaveTime is how long a command of the scenario may go on, as in a run.
	leaveTime = 10 * time.Second
	// termTime is how long a command has between the request to end and the end.
	termTime = 2 * time.Second
)

// with starts the player, and serves its connection. When both are done it returns what went wrong with the check: how
// a player ends whose part is over is its own affair.
func (p *player) with(ctx context.Context, serve func(wire.Conn) error) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var ended error
	done := make(chan struct{})
	go func() {
		defer close(done)
		ended = p.play(ctx)
		_ = p.listener.Close() // who waits for it to join waits no longer; it may be closed already
	}()
	defer func() {
		if p.dir != "" {
			err = errors.Join(err, os.RemoveAll(p.dir))
		}
	}()
	conn, err := p.listener.Accept()
	if err != nil {
		<-done
		if cause := context.Cause(ctx); cause != nil {
			return cause
		}
		return fmt.Errorf("replay: client %q ended before it joined: %s", p.name, how(ended))
	}
	unwatch := context.AfterFunc(ctx, func() { _ = conn.Close() }) // to wake the session; nothing is lost
	err = serve(conn)
	unwatch()
	if p.patience > 0 {
		defer time.AfterFunc(p.patience, cancel).Stop()
	}
	cause := context.Cause(ctx)
	<-done
	switch {
	case err != nil && cause != nil:
		return cause
	case err != nil && ended != nil:
		return fmt.Errorf("%w (%s)", err, how(ended))
	}
	return err
}

// how says how a player ended.
func how(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// newPlayer returns who plays a client: the command of the options, or what played it then.
func newPlayer(r *record.Run, name, token string, o Options) (*player, error) {
	sc, err := r.Scenario()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(sc.Clients, func(c scenarios.Client) bool { return c.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("replay: the scenario in the manifest has no client %q; they are not of one run", name)
	}
	cl := &sc.Clients[i]
	switch {
	case len(o.Command) > 0:
		return commandPlayer(cl, o.Command, "", token, o)
	case slices.Contains(sc.Live(), name):
		return nil, fmt.Errorf("replay: client %q took part in real time, and what reached it then is not to be had again, "+
			"but what it sent is recorded; replay another client, or all of the run", name)
	case cl.Model != "":
		return modelPlayer(r, sc.Dir, cl, token)
	case cl.External:
		return nil, fmt.Errorf("replay: client %q was started by somebody else; give its command after --", name)
	}
	program, err := sc.Command(cl)
	if err != nil {
		return nil, fmt.Errorf("replay: client %q: %w", name, err)
	}
	o.Env = slices.Concat(o.Env, cl.Env)
	p, err := commandPlayer(cl, append([]string{program}, cl.Run[1:]...), cl.WorkDir, token, o)
	if err == nil {
		p.patience = leaveTime
	}
	return p, err
}

// modelPlayer plays a built-in model in this process.
func modelPlayer(r *record.Run, dir string, cl *scenarios.Client, token string) (*player, error) {
	in := run.Instance{
		Model: cl.Model, With: cl.With, Entry: cl.Entry, Index: cl.Index, Count: cl.Count, Seed: r.Manifest.Seed,
		Dir: dir, AllowOutside: r.Manifest.AllowOutside,
	}
	parts, err := in.Parts(cl.Name)
	if err != nil {
		return nil, fmt.Errorf("replay: client %q: %w", cl.Name, err)
	}
	net := mem.NewNet()
	return &player{name: cl.Name, token: token, listener: net, play: func(ctx context.Context) error {
		conn, err := net.Dial(ctx, net.URL())
		if err != nil {
			return err
		}
		return run.Model(ctx, parts[0].Model, cl.Name, client.WithConn(conn), client.WithToken(token))
	}}, nil
}

// commandPlayer plays a command, which finds the session at a private unix socket. It stays in the process group, and so
// on the terminal, of the caller: it may be a debugger.
func commandPlayer(cl *scenarios.Client, argv []string, workDir, token string, o Options) (*player, error) {
	dir, err := os.MkdirTemp("", "metasim-")
	if err != nil {
		return nil, err
	}
	listener, err := stream.Unix().Listen("unix://" + filepath.ToSlash(filepath.Join(dir, "s")))
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	p := &player{name: cl.Name, token: token, listener: listener, dir: dir}
	p.play = func(ctx context.Context) error {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Dir = workDir
		cmd.Env = slices.Concat(os.Environ(), o.Env,
			[]string{"METASIM_SERVER=" + listener.URL(), "METASIM_CLIENT=" + cl.Name, "METASIM_TOKEN=" + token})
		cmd.Stdin, cmd.Stdout, cmd.Stderr = o.Stdin, o.Stdout, o.Stderr
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		cmd.WaitDelay = termTime
		return cmd.Run()
	}
	return p, nil
}
