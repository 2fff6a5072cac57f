package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"metasim/monitor"
)

// remoteFlags say which of the runs that go on is meant.
type remoteFlags struct{ dir, http string }

func (f *remoteFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.dir, "run", "", "the `directory` of the run (default: the one below runs/ that goes on)")
	cmd.Flags().StringVar(&f.http, "http", "", "the `address` of the run's page, as metasim run --http printed it")
	cmd.MarkFlagsMutuallyExclusive("run", "http")
}

func (f *remoteFlags) open() (*monitor.Remote, error) {
	switch {
	case f.http != "":
		return monitor.Dial(f.http, os.Getenv("METASIM_HTTP_TOKEN"))
	case f.dir != "":
		return monitor.Open(f.dir)
	}
	return monitor.Find("runs")
}

// ask asks the run that is meant, and prints its answer.
func (f *remoteFlags) ask(std streams, question func(*monitor.Remote) (answer string, err error)) error {
	r, err := f.open()
	if err != nil {
		return badUsage(err)
	}
	answer, err := question(r)
	if err == nil {
		_, err = fmt.Fprintln(std.out, answer)
	}
	return failed(err)
}

func newWhy(std streams) *cobra.Command {
	var f remoteFlags
	asJSON := false
	cmd := &cobra.Command{
		Use:   "why [CLIENT]",
		Short: "Say why a run, or one of its clients, does not go on",
		Long: "Say why a run, or one of its clients, does not go on: which client it waits for, which one\n" +
			"that client waits for, and so on, and what the last of them does: does it compute, is it asleep in the kernel, stopped, or dead?",
		Example: "  metasim why\n  metasim why robot-3 --run runs/depot-4",
		Args:    oneClient,
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.ask(std, func(r *monitor.Remote) (string, error) {
				chain, err := r.Why(cmd.Context(), strings.Join(args, ""))
				if err != nil || !asJSON {
					return strings.Join(chain, "; "), err
				}
				text, err := json.Marshal(map[string][]string{"chain": chain})
				return string(text), err
			})
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object: chain is a list of sentences, one for each client on the way")
	return cmd
}

// oneClient wants the name of a client, or nothing.
func oneClient(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("why takes the name of one client, or none for the run as a whole, but was given %q", args)
	}
	return nil
}

func newCtl(std streams) *cobra.Command {
	var f remoteFlags
	cmd := &cobra.Command{
		Use:   "ctl",
		Short: "Pause a run, let it go on, step it, or end it",
		Long: "Pause a run that goes on, let it go on, step it, or end it. What it computes is the same: its digest does not change.\n\n" +
			"A pause takes effect where clients must wait: a client that no message can reach may have been authorized far ahead.",
		Args: unknownControl,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	about := map[string]string{
		"pause":  "Authorize no client any further",
		"resume": "Let a paused run go on",
		"step":   "Let everything happen at the next time, and pause there",
		"until":  "Let everything before a simulated time happen, and pause there",
		"quit":   "End the run: it counts as failed, and what happened so far is kept",
	}
	for _, name := range monitor.Commands {
		sub := &cobra.Command{Use: name, Short: about[name], Args: nothing}
		if name == "until" {
			sub.Use, sub.Args = "until TIME", exactly(1, "one time, as in 1.5s")
		}
		sub.RunE = func(cmd *cobra.Command, args []string) error {
			return f.ask(std, func(r *monitor.Remote) (string, error) { return r.Control(cmd.Context(), name, strings.Join(args, "")) })
		}
		f.add(sub)
		cmd.AddCommand(sub)
	}
	return cmd
}

// unknownControl says which commands a run has.
func unknownControl(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("a run cannot be told to %q; use one of %s", args[0], strings.Join(monitor.Commands, ", "))
}
