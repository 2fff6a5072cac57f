package run

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"metasim/client"
	"metasim/federates"
	"metasim/record"
	"metasim/record/replay"
	"metasim/scenarios"
	"metasim/wire"
	"metasim/wire/transport/all"
	"metasim/wire/transport/mem"
)

// ReplayOptions say what runs as the client that is replayed.
type ReplayOptions struct {
	// Command runs as the client, in the working directory of the caller. Empty: what ran then.
	Command []string
	// Env is added to the environment of a command.
	Env []string
	// The streams of a command. Nil: it reads nothing, and what it writes is dropped.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// interruptWait is the time between the request to a replayed command to end and the kill.
const interruptWait = 2 * time.Second

// ReplayClient replays one client of a recorded run: see replay.Client. It starts the built-in model or the command that ran
// then, or another command.
func ReplayClient(ctx context.Context, r *record.Run, name string, o ReplayOptions) (*replay.Checked, error) {
	if _, err := r.Client(name); err != nil {
		return nil, err
	}
	if err := r.Elsewhere(name); err != nil {
		return nil, err
	}
	p, err := replayProgram(r, name, o)
	if err != nil {
		return nil, err
	}
	return replay.Client(ctx, r, name, p)
}

func replayProgram(r *record.Run, name string, o ReplayOptions) (*replay.Program, error) {
	sc, err := r.Scenario()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(sc.Clients, func(c scenarios.Client) bool { return c.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("the scenario in the manifest has no client %q; they are not of one run", name)
	}
	cl := &sc.Clients[i]
	p, err := programOf(r, sc, cl, o)
	if err == nil {
		p.Scopes = sc.Scopes
		p.About, err = aboutOf(cl)
	}
	return p, err
}

// programOf returns the program of a client.
func programOf(r *record.Run, sc *scenarios.Scenario, cl *scenarios.Client, o ReplayOptions) (*replay.Program, error) {
	name := cl.Name
	switch {
	case len(o.Command) > 0:
		return replayCommand(cl, o.Command, "", o), nil
	case slices.Contains(sc.RealTime(), name):
		return nil, fmt.Errorf("client %q took part in real time, so what reached it then is not recorded; "+
			"what it sent is; replay another client, or all of the run", name)
	case cl.Model != "":
		return replayModel(r, cl)
	case cl.External:
		return nil, fmt.Errorf("client %q was started outside of metasim; give its command after --", name)
	}
	program, err := sc.Command(cl)
	if err != nil {
		return nil, fmt.Errorf("client %q: %w", name, err)
	}
	env, err := unmasked(cl, "metasim replay")
	if err != nil {
		return nil, err
	}
	o.Env = slices.Concat(o.Env, env)
	p := replayCommand(cl, append([]string{program}, cl.Run[1:]...), cl.WorkDir, o)
	p.Patience, p.Repeatable = defaultPatience, true
	return p, nil
}

// unmasked returns the env of a client with the values that were not recorded, which must be in this process's environment.
// command is what this process does.
func unmasked(cl *scenarios.Client, command string) (env []string, err error) {
	var missing []string
	for _, entry := range cl.Env {
		if name, masked := strings.CutSuffix(entry, "="+scenarios.Masked); masked {
			value, found := os.LookupEnv(name)
			if !found {
				missing = append(missing, name)
			}
			entry = name + "=" + value
		}
		env = append(env, entry)
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("the run has not recorded the values of %s, which the command of client %q needs; "+
			"set them in the environment of %s, or record the run with --keep-env", strings.Join(missing, ", "), cl.Name, command)
	}
	return env, nil
}

// replayModel runs a built-in model in this process.
func replayModel(r *record.Run, cl *scenarios.Client) (*replay.Program, error) {
	in := Instance{
		Model: cl.Model, With: cl.With, Scope: cl.Scope.Name(), Entry: cl.Scope.Calls(cl.Entry), Index: cl.Index, Count: cl.Count, Seed: r.Manifest.Seed,
		Dir: cl.Dir, AllowOutside: r.Manifest.AllowOutside,
	}
	parts, err := in.Parts(cl.Name)
	if err != nil {
		return nil, fmt.Errorf("client %q: %w", cl.Name, err)
	}
	net := mem.NewNet()
	return &replay.Program{
		Listen: func() (wire.Listener, error) { return net, nil },
		Run: func(ctx context.Context, _ wire.Listener, token string) error {
			conn, err := net.Dial(ctx)
			if err != nil {
				return err
			}
			return federates.TakePart(ctx, parts[0].Model, cl.Name, client.WithConn(conn), client.WithToken(token))
		},
	}, nil
}

// replayCommand runs a command, which joins through a private unix socket. The command stays in the process group of the
// caller, and so on its terminal: it may be a debugger.
func replayCommand(cl *scenarios.Client, argv []string, workDir string, o ReplayOptions) *replay.Program {
	return &replay.Program{
		Listen: func() (wire.Listener, error) { return all.Table().Listen("unix", "") },
		Run: func(ctx context.Context, l wire.Listener, token string) error {
			cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
			cmd.Dir = workDir
			cmd.Env = environment(workDir, slices.Concat(o.Env,
				[]string{"METASIM_SERVER=" + l.URL(), "METASIM_CLIENT=" + cl.Name, "METASIM_TOKEN=" + token}))
			cmd.Stdin, cmd.Stdout, cmd.Stderr = o.Stdin, o.Stdout, o.Stderr
			cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
			cmd.WaitDelay = interruptWait
			return cmd.Run()
		},
	}
}
