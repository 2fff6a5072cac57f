package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"metasim/federates/catalog"
	"metasim/run"
	"metasim/run/supervisor"
	"metasim/wire/transport"
)

// clientFlags are the flags of `metasim client`.
type clientFlags struct {
	instance, name, server, token string
	with                          []string
	seed                          uint64
	count                         int
	wait                          time.Duration
	waits                         bool // and has said so
}

func newClient() *cobra.Command {
	var f clientFlags
	cmd := &cobra.Command{
		Use:   "client MODEL",
		Short: "Take part in a run with one built-in model",
		Long: "Take part in a run with one built-in model, as a process of its own. The server, the client's name and the join\n" +
			"token come from METASIM_SERVER, METASIM_CLIENT and METASIM_TOKEN, or from the flags.\n\nModels:\n" + modelList(),
		Example: "  metasim client ping --name pinger --with rounds=10 --with out=PING --with in=PONG",
		Args:    between(0, 1, "one model"),
		RunE:    func(cmd *cobra.Command, args []string) error { return takePart(cmd, args, &f) },
	}
	f.addServer(cmd, 0)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.with, "with", nil, "a parameter of the model: `name=value`; may be repeated")
	flags.StringVar(&f.instance, "instance", "", "model and parameters as JSON, as metasim run passes them on")
	flags.Lookup("instance").Hidden = true
	return cmd
}

// addServer adds the flags that say as whom to join which server, and how long to wait for it by default.
func (f *clientFlags) addServer(cmd *cobra.Command, wait time.Duration) {
	flags := cmd.Flags()
	flags.StringVar(&f.name, "name", "", "the client's `name` (default: METASIM_CLIENT)")
	flags.StringVar(&f.server, "server", "", "the server's `address` (default: METASIM_SERVER)")
	flags.StringVar(&f.token, "token", "", "the join `token` (default: METASIM_TOKEN)")
	flags.DurationVar(&f.wait, "wait", wait, "how long to wait for a server that does not listen yet, over unix, shm, tcp and tls")
	flags.Uint64Var(&f.seed, "seed", 0, "the `number` that seeds the model's draws")
	flags.IntVar(&f.count, "count", 1, "the `number` of clients of this one's entry in the scenario; one of several has its index in its name")
}

// newSupervise is the supervisor of the programs of a run; see the package supervisor.
func newSupervise(std streams) *cobra.Command {
	return &cobra.Command{
		Use: "supervise", Short: "Supervise the processes of a run, as metasim run starts it", Hidden: true, Args: nothing,
		RunE: func(*cobra.Command, []string) error {
			return failed(supervisor.Serve(std.in, raw(std.out), run.BuildVersion()))
		},
	}
}

func modelList() string {
	var s strings.Builder
	for _, m := range catalog.Models() {
		fmt.Fprintf(&s, "  %-22s %s\n", m.Name, m.Doc)
	}
	return s.String()
}

func takePart(cmd *cobra.Command, args []string, f *clientFlags) error {
	in, err := f.read(args)
	if err != nil {
		return badUsage(err)
	}
	if _, err := catalog.Lookup(in.Model); err != nil {
		return badUsage(fmt.Errorf("there is no built-in model %q; see metasim client --help for a list", in.Model))
	}
	return f.join(cmd, in)
}

// join takes part in a run with a model.
func (f *clientFlags) join(cmd *cobra.Command, in *run.Instance) error {
	name := cmp.Or(f.name, os.Getenv("METASIM_CLIENT"))
	if name == "" {
		return badUsage(errors.New("the client has no name; use --name, or set METASIM_CLIENT"))
	}
	if err := f.setIndex(in, name); err != nil {
		return badUsage(err)
	}
	server := cmp.Or(f.server, os.Getenv("METASIM_SERVER"))
	if server == "" {
		return badUsage(errors.New("no server to join; use --server, or set METASIM_SERVER"))
	}
	for last := time.Now().Add(f.wait); ; {
		parts, err := in.Parts(name)
		if err != nil {
			return badUsage(err)
		}
		err = run.TakePart(cmd.Context(), parts, server, cmp.Or(f.token, os.Getenv("METASIM_TOKEN")))
		var absent *transport.AbsentError
		if !errors.As(err, &absent) || time.Now().After(last) {
			return failed(err)
		}
		if !f.waits {
			f.waits = true
			fmt.Fprintf(cmd.ErrOrStderr(), "nobody listens at %s yet; waiting for at most %v\n", server, f.wait)
		}
		select {
		case <-cmd.Context().Done():
			return failed(err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// setIndex finds the index of the client in its entry from its name, unless metasim run has passed it on.
func (f *clientFlags) setIndex(in *run.Instance, name string) error {
	if in.Entry != "" {
		return nil
	}
	in.Entry, in.Index, in.Count = name, 0, f.count
	if f.count == 1 {
		return nil
	}
	cut := strings.LastIndexByte(name, '-')
	index, err := strconv.Atoi(name[cut+1:])
	if err != nil || cut <= 0 || index < 0 || index >= f.count {
		return fmt.Errorf("--count %d, but the client is called %q; of several it is called name-0 to name-%[3]d, as in the scenario",
			f.count, name, max(f.count, 1)-1)
	}
	in.Entry, in.Index = name[:cut], index
	return nil
}

// read reads which model is to be run: from the flags, or as metasim run passes it on.
func (f *clientFlags) read(args []string) (*run.Instance, error) {
	switch {
	case f.instance != "" && len(args) == 0:
		return run.ParseInstance(f.instance)
	case len(args) == 0:
		return nil, errors.New("no model is named; see metasim client --help for a list")
	}
	// A file that is named on the command line may lie anywhere.
	in := &run.Instance{Model: args[0], With: map[string]any{}, Seed: f.seed, Dir: ".", AllowOutside: true}
	for _, w := range f.with {
		key, text, ok := strings.Cut(w, "=")
		if !ok {
			return nil, fmt.Errorf("--with %s: write name=value", w)
		}
		var value any
		if err := yaml.Unmarshal([]byte(text), &value); err != nil {
			return nil, fmt.Errorf("--with %s: the value is not YAML: %w", w, err)
		}
		in.With[key] = value
	}
	return in, nil
}
