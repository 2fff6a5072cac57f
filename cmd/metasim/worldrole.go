package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"metasim/federates/catalog"
	"metasim/run"
)

// roleFlags say which part of a world this process has, where it runs on several machines. They are named as those of gz sim.
type roleFlags struct {
	role, listen, connect, readyFile string
	secondaries                      int
	patience                         time.Duration
}

// The roles.
const (
	primary   = "primary"
	secondary = "secondary"
)

func (f *roleFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.role, "network-role", "", "the part of this process in a world on several machines, a `role`: primary has the world, and waits for --network-secondaries to join;\n"+
		"secondary joins the primary at --connect, and moves models for it (default: all runs here)")
	flags.IntVar(&f.secondaries, "network-secondaries", 0, "the `number` of secondaries that the primary waits for, each started elsewhere with the same file")
	flags.StringVar(&f.listen, "listen", "", "the `address` at which the primary waits for them: host:port for tcp, tls and quic, a path for unix and shm (default: a free one of this host)")
	flags.StringVar(&f.readyFile, "ready-file", "", "have the primary write its address to this `file`, once secondaries can join")
	flags.StringVar(&f.connect, "connect", "", "the `address` of the primary, as it has printed it (default: METASIM_SERVER)")
	flags.DurationVar(&f.patience, "start-timeout", 30*time.Second, "how long, as a `duration` of real time, the primary waits for its secondaries, and a secondary for its primary")
}

// check returns what contradicts itself. It writes the role in lower case, and gives a primary the runtimes that it has by default.
func (f *roleFlags) check(flags *pflag.FlagSet, runtimes *string) error {
	f.role = strings.ToLower(f.role)
	given := flags.Changed
	switch {
	case f.role == "" || f.role == primary || f.role == secondary:
	default:
		return fmt.Errorf("--network-role is %q; write primary or secondary", f.role)
	}
	for _, name := range []string{"network-secondaries", "listen", "ready-file"} {
		if given(name) && f.role != primary {
			return fmt.Errorf("--%s is for the primary of a world on several machines; add --network-role primary, or leave it out", name)
		}
	}
	switch {
	case given("connect") && f.role != secondary:
		return errors.New("--connect is for a secondary of a world on several machines; add --network-role secondary, or leave it out")
	case given("start-timeout") && (f.role == "" || f.patience <= 0):
		return fmt.Errorf("--start-timeout is %v; write a time above 0, and --network-role, as it is for worlds on several machines", f.patience)
	case f.role == secondary:
		return f.checkSecondary(flags)
	case f.role != primary:
		return nil
	case f.secondaries < 1 || f.secondaries > run.MostSecondaries:
		return fmt.Errorf("--network-secondaries is %d; write for how many secondaries the primary waits, from 1 to %d", f.secondaries, run.MostSecondaries)
	case given("secondaries"):
		return errors.New("--secondaries starts secondaries here, and --network-secondaries waits for those elsewhere; use one of them")
	}
	if !given("runtimes") {
		*runtimes = "quic"
	}
	if *runtimes == "in-process" || *runtimes == "mem" {
		return fmt.Errorf("nobody reaches --runtimes %s from elsewhere; use quic, tls, tcp, unix or shm", *runtimes)
	}
	return nil
}

// secondaryFlags are what a secondary may be told. All else is for the primary to say.
var secondaryFlags = []string{"network-role", "connect", "start-timeout", "json"}

func (f *roleFlags) checkSecondary(flags *pflag.FlagSet) (err error) {
	flags.Visit(func(flag *pflag.Flag) {
		if err == nil && !slices.Contains(secondaryFlags, flag.Name) {
			err = fmt.Errorf("--%s is for the primary to say; leave it out for a secondary", flag.Name)
		}
	})
	if f.connect = cmp.Or(f.connect, os.Getenv("METASIM_SERVER")); err == nil && f.connect == "" {
		err = errors.New("no primary to join; use --connect, or set METASIM_SERVER to the address that the primary printed")
	}
	return err
}

// digestOf returns the SHA-256 of a file, in hex.
func digestOf(file string) (string, error) {
	text, err := os.ReadFile(file)
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// elsewhere returns the clients of secondaries that are started elsewhere.
func (f *roleFlags) elsewhere(names []string, world, digest string) (list []map[string]any) {
	for _, name := range names {
		order, ack := catalog.SecondaryChannels(world, name)
		list = append(list, map[string]any{"name": name, "external": true, "with": run.SecondaryWith{Digest: digest}, "publish": []string{ack}, "subscribe": quoted([]string{order})})
	}
	return list
}

// options has a primary wait for its secondaries.
func (f *roleFlags) options(o *run.Options, file string, std streams) {
	if f.role != primary {
		return
	}
	o.Listen, o.Token = f.listen, os.Getenv("METASIM_TOKEN")
	ready := (&runFlags{readyFile: f.readyFile}).ready(true, std)
	o.Ready = func(url, token, tokens string) error {
		fmt.Fprintf(std.err, "waiting for %d secondaries: metasim world run %s --network-role secondary --connect '%s'\n", f.secondaries, file, url)
		return ready(url, token, tokens)
	}
}

// A joinedOutcome is what a secondary prints with --json.
type joinedOutcome struct {
	OK    bool   `json:"ok"`
	Error string `json:"error"`
	Name  string `json:"name"`
}

// join takes part in the run of a primary elsewhere.
func (f *roleFlags) join(ctx context.Context, file string, asJSON bool, std streams) error {
	digest, err := digestOf(file)
	if err != nil {
		return badUsage(err)
	}
	s := &run.Secondary{Server: f.connect, Token: os.Getenv("METASIM_TOKEN"), Name: os.Getenv("METASIM_CLIENT"), World: file, Digest: digest, Patience: f.patience}
	name, err := s.TakePart(ctx)
	out := joinedOutcome{OK: err == nil, Name: name}
	if err != nil {
		out.Error = err.Error()
	}
	if asJSON {
		return errors.Join(failed(err), printJSON(std.out, out))
	}
	if err == nil {
		_, err = fmt.Fprintf(std.out, "%s has moved models until the run ended\n", name)
	}
	return failed(err)
}
