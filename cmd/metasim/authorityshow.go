package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"metasim/monitor/owners"
	"metasim/run"
	"metasim/scenarios"
)

// authorityShow has the flags of metasim authority show.
type authorityShow struct {
	until, seed, transport, out string
	live                        liveFlags
	look                        authorityLook
}

// The scenario that is shown, and the client of it that looks.
const (
	ownersScenario = "authority.metasim.yaml"
	ownersClient   = "watcher"
)

func newAuthorityShow(std streams) *cobra.Command {
	var a authorityShow
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show on a page who owns what, in a world of four servers",
		Long: "Carry out the scenario authority, in real time, and show on a page who owns which of its hundred balls, and who moves it: four simulation servers,\n" +
			"two homeservers. Work is balanced each second; one server joins after 1 s, and one leaves after 3 s.\n\n" +
			"The address of the page is printed. The run ends at --until, or by the page, or with ctrl-C.\n\n" +
			"With --peer or --home it shows simulation servers that are programs of their own ('metasim authority simserver --world'), until ctrl-C; METASIM_TOKEN is\n" +
			"the token that they know. What a server that has ended owned stays on the page as it was.",
		Example: "  metasim authority show\n  metasim authority show --http :8080 --until 10m\n" +
			"  METASIM_TOKEN=sesame metasim authority show --peer sim-a=a.url --peer sim-b=b.url\n  METASIM_TOKEN=sesame metasim authority show --home home.url --home-token-file sim-a.token",
		Args: nothing,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.carryOut(cmd, std) },
	}
	flags := cmd.Flags()
	flags.StringVar(&a.until, "until", "60s", "when the run ends, in simulated `time`")
	flags.StringVar(&a.seed, "seed", "1", "the seed of the run: a whole `number`")
	flags.StringVar(&a.transport, "transport", "mem", "where the servers run: mem, in this process; "+processTransports()+", in processes of their own, over this transport")
	flags.StringVar(&a.out, "out", "", "put the run into this `directory` (default: one below the directory for temporary files)")
	a.live.add(cmd)
	cmd.Flags().Lookup("http").DefValue = "127.0.0.1:0"
	a.live.HTTP = "127.0.0.1:0"
	a.look.add(cmd)
	return cmd
}

func (a *authorityShow) carryOut(cmd *cobra.Command, std streams) error {
	if a.look.wanted() {
		for _, of := range []string{"until", "seed", "transport", "out", "tui", "progress", "http-outside", "stall"} {
			if cmd.Flags().Changed(of) {
				return badUsage(fmt.Errorf("--%s is for a run, and --peer and --home show servers that are no part of one; leave it out", of))
			}
		}
		return a.look.show(cmd.Context(), std, a.live.HTTP)
	}
	text, err := scenarios.Shipped.ReadFile(ownersScenario)
	if err != nil {
		return failed(err)
	}
	sc, _, err := scenarios.Parse(ownersScenario, text, scenarios.Overrides{Seed: a.seed, Until: a.until, Set: []string{
		"rate=1", fmt.Sprintf("clients.%s={name: %s, external: true, subscribe: [%s]}", ownersClient, ownersClient, owners.Channel),
	}})
	if err != nil {
		return badUsage(err)
	}
	self, err := os.Executable()
	if err == nil && a.out == "" {
		a.out, err = os.MkdirTemp("", "metasim-authority-")
		a.out = filepath.Join(a.out, "run")
	}
	if err != nil {
		return failed(err)
	}
	page := owners.New()
	say := func(text string) { fmt.Fprintln(std.err, text) }
	live := a.live.options(say, nil)
	live.Pages = map[string]http.Handler{"/owners/": page.Handler()}
	live.Shown = func(url string) { say("live: " + strings.Replace(url, "/#token=", "/owners/#token=", 1)) }
	var joined sync.WaitGroup
	var cause error
	done, err := run.Scenario(cmd.Context(), sc, run.Options{
		Transport: a.transport, Out: a.out, Self: []string{self}, Log: newLogger(std.err, false), Command: commandLine(cmd), Live: live,
		Ready: func(url, token, _ string) error {
			joined.Go(func() { cause = page.Join(cmd.Context(), ownersClient, url, token) })
			return nil
		},
	})
	joined.Wait()
	if err == nil {
		fmt.Fprintln(std.out, "run: "+done.RunDir)
		err = done.Err
	}
	if err == nil && cause != nil {
		err = errors.Join(errors.New("the page did not show all of the run"), cause)
	}
	return failed(err)
}
