package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"metasim/federates/authority/live"
	"metasim/internal/atomicfile"
	"metasim/metasim"
)

// authoritySimserver has the flags of metasim authority simserver.
type authoritySimserver struct {
	name, listen, data, readyFile string
	peers, own                    []string
	step, retry                   time.Duration
}

func newAuthoritySimserver(std streams) *cobra.Command {
	var a authoritySimserver
	cmd := &cobra.Command{
		Use:   "simserver",
		Short: "Own entities as a program of its own, and hand them over to others over QUIC",
		Long: "Own entities outside of a run, and hand them over to other such programs over QUIC, each of which has the token METASIM_TOKEN. What a server owns is in the\n" +
			"directory of --data before it says so: it may be killed, whenever, and started again, and at most one server owns an entity.\n\n" +
			"It reads a command from each line of the standard input: 'give ENTITY SERVER' hands over, 'owns' prints what it owns, and what the" +
			" others have said of what they own. Each event is a line of JSON on the\n" +
			"standard output: ready, owns, got, gave, wrong. It ends with ctrl-C.\n\n" +
			"There is no homeserver: the owner hands over without asking anybody (case 3).\n\n" +
			"Exit status: 0 it was ended; 1 it could not listen, or not write what it owns; 2 bad usage.",
		Example: "  METASIM_TOKEN=sesame metasim authority simserver --name sim-a --data a --ready-file a.url --peer sim-b=b.url --own ball",
		Args:    nothing,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.carryOut(cmd, std) },
	}
	flags := cmd.Flags()
	flags.StringVar(&a.name, "name", "", "the `name` of this server")
	flags.StringVar(&a.listen, "listen", "127.0.0.1:0", "take messages of other servers at this `address`: host:port; port 0 is a free one")
	flags.StringVar(&a.data, "data", "", "keep what it owns in this `directory`, which is made")
	flags.StringVar(&a.readyFile, "ready-file", "", "write the address for the other servers to this `file`, once they can connect")
	flags.StringArrayVar(&a.peers, "peer", nil, "another `server`: NAME=URL, or NAME=FILE with its --ready-file, which is read before each connection; may be repeated")
	flags.StringArrayVar(&a.own, "own", nil, "an `entity` that it owns where --data has nothing yet; may be repeated")
	flags.DurationVar(&a.step, "step", time.Millisecond, "the step of the entities, a `time`")
	flags.DurationVar(&a.retry, "retry", 200*time.Millisecond, "the `time` after which it says again what has not been acknowledged")
	addDefaults(cmd)
	return cmd
}

func (a *authoritySimserver) carryOut(cmd *cobra.Command, std streams) error {
	cfg := live.Config{
		Name: a.name, Listen: a.listen, Data: a.data, Token: os.Getenv("METASIM_TOKEN"), Peers: map[string]string{}, Own: a.own,
		Step: metasim.Time(a.step), Retry: metasim.Time(a.retry),
	}
	for _, p := range a.peers {
		name, at, ok := strings.Cut(p, "=")
		if !ok || name == "" || at == "" {
			return badUsage(fmt.Errorf("--peer is %q; write NAME=URL or NAME=FILE", p))
		}
		cfg.Peers[name] = at
	}
	if err := cfg.Validate(); err != nil {
		return badUsage(fmt.Errorf("%w (--name, --data, METASIM_TOKEN, --peer, --step and --retry)", err))
	}
	ctx, cancel := context.WithCancelCause(cmd.Context())
	defer cancel(nil)
	lines := json.NewEncoder(std.out)
	err := live.Run(ctx, cfg, readCommands(std.in, std.err), func(e live.Event) {
		if err := lines.Encode(e); err != nil {
			cancel(err) // nobody would hear of what it owns
		}
		if e.Event == "ready" && a.readyFile != "" {
			if err := atomicfile.Write(a.readyFile, []byte(e.URL+"\n"), 0o600); err != nil {
				cancel(err)
			}
		}
	})
	if cause := context.Cause(ctx); err == nil && cause != nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	return failed(err)
}

// readCommands reads commands until the input ends.
func readCommands(in io.Reader, complain io.Writer) <-chan live.Command {
	commands := make(chan live.Command)
	go func() {
		defer close(commands)
		for scan := bufio.NewScanner(in); scan.Scan(); {
			switch words := strings.Fields(scan.Text()); {
			case len(words) == 3 && words[0] == "give":
				commands <- live.Command{Give: words[1], To: words[2]}
			case len(words) == 1 && words[0] == "owns":
				commands <- live.Command{}
			case len(words) > 0:
				fmt.Fprintf(complain, "%q is no command; write: give ENTITY SERVER, or owns\n", scan.Text())
			}
		}
	}()
	return commands
}
