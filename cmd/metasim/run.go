package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"metasim/run"
	"metasim/server"
)

// runFlags are the flags of the commands that carry out a scenario.
type runFlags struct {
	scenarioFlags
	transport, listen, token, out, readyFile string
	json, verbose                            bool
}

func (f *runFlags) add(cmd *cobra.Command) {
	f.scenarioFlags.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.listen, "listen", "", "where to listen for clients from outside: a path for unix, host:port for tcp and quic")
	flags.StringVar(&f.token, "token", "", "the join token that clients must show (default: METASIM_TOKEN, else a random one)")
	flags.StringVar(&f.out, "out", "", "the run `directory` (default: runs/<name>-<n>)")
	flags.StringVar(&f.readyFile, "ready-file", "", "write the address for clients from outside to this `file`, once they can join")
	flags.BoolVar(&f.json, "json", false, "print the outcome as one JSON object, and nothing else, on stdout")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "log what happens beside the run")
}

func newRun(std streams) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run FILE",
		Short: "Run a scenario",
		Long: "Run a scenario: serve it, start its clients, and print what came of it and the digest that proves it.\n\n" +
			"A scenario file can start programs: run only files that you trust as you would trust a shell script.",
		Args: exactlyOne("scenario file"),
		RunE: func(cmd *cobra.Command, args []string) error { return carryOut(cmd, args[0], &f, false, std) },
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.transport, "transport", "mem",
		"mem: built-in models in this process, commands on a unix socket; unix, tcp, quic: every client in a process of its own")
	return cmd
}

func newServe(std streams) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "serve FILE",
		Short: "Serve a scenario to clients that are started by somebody else",
		Long: "Serve a scenario to clients that are started by somebody else, on this host or another. The address is printed,\n" +
			"and written to --ready-file when clients can join. Give them METASIM_SERVER, METASIM_CLIENT and METASIM_TOKEN.",
		Args: exactlyOne("scenario file"),
		RunE: func(cmd *cobra.Command, args []string) error { return carryOut(cmd, args[0], &f, true, std) },
	}
	f.add(cmd)
	cmd.Flags().StringVar(&f.transport, "transport", "unix", "unix, tcp or quic")
	return cmd
}

// carryOut runs a scenario and prints its outcome.
func carryOut(cmd *cobra.Command, file string, f *runFlags, serve bool, std streams) error {
	sc, err := f.load(file, std)
	if err != nil {
		return f.refused(err, std)
	}
	o, err := f.options(serve, std)
	if err != nil {
		return f.refused(&failure{status: 2, err: err}, std)
	}
	progress := newProgress(std.err, sc.Until)
	o.Watch = func(s *server.Server) { progress.start(s.Time) }
	out, err := run.Scenario(cmd.Context(), sc, o)
	progress.stop()
	if err != nil {
		return f.refused(failed(err), std)
	}
	if f.json {
		if err := printJSON(std.out, out); err != nil {
			return failed(err)
		}
	} else {
		printOutcome(std.out, out)
	}
	if !out.OK {
		return failed(out.Err)
	}
	return nil
}

// options says how to carry out the scenario.
func (f *runFlags) options(serve bool, std streams) (run.Options, error) {
	o := run.Options{
		Transport: f.transport, Listen: f.listen, Serve: serve, Token: f.token, Out: f.out, AllowOutside: f.allowOutside,
		Log: newLogger(std.err, f.verbose), Ready: f.ready(serve, std),
	}
	if o.Token == "" {
		o.Token = os.Getenv("METASIM_TOKEN")
	}
	if serve && o.Transport == "mem" {
		return o, errors.New("nobody from outside can reach transport mem; use unix, tcp or quic")
	}
	self, err := os.Executable()
	if err != nil {
		return o, fmt.Errorf("where this program is cannot be found out: %w", err)
	}
	o.Self = []string{self}
	return o, o.Validate()
}

// ready tells those outside where the server is.
func (f *runFlags) ready(serve bool, std streams) func(url, token string) error {
	return func(url, token string) error {
		if serve {
			fmt.Fprintf(std.err, "METASIM_SERVER=%s\n", url)
			if token != "" {
				fmt.Fprintf(std.err, "METASIM_TOKEN=%s\n", token)
			}
		}
		if f.readyFile == "" {
			return nil
		}
		return writeAtomically(f.readyFile, url+"\n")
	}
}

// refused prints, with --json, an outcome for a run that did not begin.
func (f *runFlags) refused(err error, std streams) error {
	if f.json {
		if e := printJSON(std.out, &run.Outcome{Error: err.Error(), Clients: []run.ClientOutcome{}}); e != nil {
			return errors.Join(err, e)
		}
	}
	return err
}

// writeAtomically writes a file so that whoever waits for it never sees half of it.
func writeAtomically(path, text string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".ready-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func printJSON(w interface{ Write([]byte) (int, error) }, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
