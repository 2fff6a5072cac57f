package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"metasim/federates/authority/balls"
	"metasim/federates/authority/live"
	"metasim/federates/authority/transfer"
	"metasim/internal/atomicfile"
	"metasim/metasim"
)

// authoritySimserver has the flags of metasim authority simserver.
type authoritySimserver struct {
	name, listen, data, readyFile string
	peers, own                    []string
	step, retry                   time.Duration

	home, tokenFile, instance, certFile string
	rule, master, answer                string

	world                []string
	balls, resting       int64
	seed, window, packet uint64
	reads                uint64
	side, sees, reach    int64
	tick, balance        time.Duration
}

func newAuthoritySimserver(std streams) *cobra.Command {
	var a authoritySimserver
	cmd := &cobra.Command{
		Use:   "simserver",
		Short: "Own entities as a program of its own, and hand them over to others over QUIC",
		Long: "Own entities outside of a run, and hand them over to other such programs over QUIC, each of which has the token METASIM_TOKEN. What a server owns is in the\n" +
			"directory of --data before it says so: it may be killed, whenever, and started again, and at most one server owns an entity.\n\n" +
			"With --home it asks a homeserver ('metasim authority serve'), which decides by the rule of the entity; what servers say to each other is signed and\n" +
			"encrypted then. Without it the owner hands over without asking anybody (case 3).\n\n" +
			"It reads a command from each line of the standard input: 'give ENTITY SERVER' and 'take ENTITY' ask for another owner; 'rule ENTITY deny|ask|allow' sets the rule\n" +
			"of an entity whose master it is, and 'yes ENTITY' and 'no ENTITY' answer what it was asked as such; 'owns' prints what it owns, and what the others have said\n" +
			"of what they own; 'leave' has it say left when nothing needs it any more. Each event is a line of JSON on the standard output: ready, owns, heard, asked, got, gave, removed,\n" +
			"refused, left, unreached, late, wrong. It ends with ctrl-C.\n\n" +
			"With --world it moves balls in a square, together with the others. A server that is named there may begin later: with --balance it gets its part then. 'leave' gives\n" +
			"all of its balls to the others.\n\n" +
			"Exit status: 0 it was ended; 1 it could not listen, or not write what it owns, or another process has its name; 2 bad usage.",
		Example: "  METASIM_TOKEN=sesame metasim authority simserver --name sim-a --data a --ready-file a.url --peer sim-b=b.url --own ball\n" +
			"  METASIM_TOKEN=sesame metasim authority simserver --name sim-a --data a --home home-a=home.url --home-token-file sim-a.token --own ball --rule ask",
		Args: nothing,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.carryOut(cmd, std) },
	}
	flags := cmd.Flags()
	flags.StringVar(&a.name, "name", "", "the `name` of this server, and of its account at the homeserver")
	flags.StringVar(&a.listen, "listen", "127.0.0.1:0", "take messages of other servers at this `address`: host:port; port 0 is a free one")
	flags.StringVar(&a.data, "data", "", "keep what it owns in this `directory`, which is made")
	flags.StringVar(&a.readyFile, "ready-file", "", "write the address for the other servers to this `file`, once they can connect")
	flags.StringArrayVar(&a.peers, "peer", nil, "another `server`: NAME=URL, or NAME=FILE with its --ready-file, which is read before each connection; may be repeated. A homeserver knows them without this")
	flags.StringArrayVar(&a.own, "own", nil, "an `entity` that it owns where --data has nothing yet; may be repeated")
	flags.DurationVar(&a.step, "step", time.Millisecond, "the step of the entities, a `time`")
	flags.DurationVar(&a.retry, "retry", 200*time.Millisecond, "the `time` after which it says again what has not been acknowledged")
	a.addHome(cmd)
	a.addWorld(cmd)
	addDefaults(cmd)
	return cmd
}

func (a *authoritySimserver) addHome(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&a.home, "home", "", "its `homeserver`: NAME=URL, or NAME=FILE with its --ready-file (default: none)")
	flags.StringVar(&a.tokenFile, "home-token-file", "", "the `file` with the token of the account at the homeserver")
	flags.StringVar(&a.certFile, "home-cert", "", "who has signed the certificate of the homeserver, or that: a PEM `file` (default: whom the system trusts)")
	flags.StringVar(&a.instance, "instance", "metasim", "the logical instance of the homeservers, a `name`")
	flags.StringVar(&a.rule, "rule", "allow", "the `rule` of the entities that it brings: deny, ask or allow")
	flags.StringVar(&a.master, "master", "", "who is the `master` of the entities that it brings (default: this server)")
	flags.StringVar(&a.answer, "answer", "never", "what it answers when it is asked as the master: yes, no, or never, and the commands yes and no do")
}

func (a *authoritySimserver) addWorld(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&a.world, "world", nil, "move balls, together with these `servers`, with commas, this one too")
	flags.Int64Var(&a.balls, "balls", 25, "the `number` of balls that it brings, NAME-000, NAME-001, ...")
	flags.Int64Var(&a.resting, "resting", 0, "the `number` of them that rest until another touches them")
	flags.Uint64Var(&a.seed, "seed", 1, "the `number` from which it is drawn where balls begin")
	flags.Int64Var(&a.side, "side", 40, "the side of the square in `metres`; all servers have the same")
	flags.Int64Var(&a.sees, "sees", 10, "how far it sees each tick, in `metres` from the middle of its field")
	flags.Int64Var(&a.reach, "reach", 500, "from ball to ball where they touch, in `millimetres`; 0: they never do")
	flags.DurationVar(&a.tick, "tick", 50*time.Millisecond, "the `time` from one move of the balls to the next; a multiple of --step")
	flags.DurationVar(&a.balance, "balance", 0, "the `time` from one comparison of work to the next, after which who has more than the others gives balls away; 0: never")
	flags.Uint64Var(&a.window, "window", 16384, "the `bytes` of updates that may be on the way to one server; the same for all")
	flags.Uint64Var(&a.packet, "packet", 4096, "the `bytes` of a packet of updates; what no datagram has room for is split")
	flags.Uint64Var(&a.reads, "reads", 0, "the `bytes` of updates that it reads in a tick; 0: all")
}

// config is what the flags say.
func (a *authoritySimserver) config() (live.Config, error) {
	minds := map[string]transfer.Mind{"never": transfer.Silent, "yes": transfer.Yes, "no": transfer.No}
	mind, known := minds[a.answer]
	cfg := live.Config{
		Name: a.name, Listen: a.listen, Data: a.data, Token: os.Getenv("METASIM_TOKEN"), Peers: map[string]string{}, Own: a.own,
		Step: metasim.Time(a.step), Retry: metasim.Time(a.retry), Master: mind,
	}
	if !known {
		return cfg, fmt.Errorf("--answer is %q; use yes, no or never", a.answer)
	}
	if rules := []string{"deny", "ask", "allow"}; !slices.Contains(rules, a.rule) {
		return cfg, fmt.Errorf("--rule is %q; use deny, ask or allow", a.rule)
	}
	for _, p := range a.peers {
		name, at, ok := strings.Cut(p, "=")
		if !ok || name == "" || at == "" {
			return cfg, fmt.Errorf("--peer is %q; write NAME=URL or NAME=FILE", p)
		}
		if cfg.Peers[name] != "" {
			return cfg, fmt.Errorf("--peer names %s twice; say once where it is", name)
		}
		cfg.Peers[name] = at
	}
	if a.home != "" {
		name, at, ok := strings.Cut(a.home, "=")
		if !ok || at == "" {
			return cfg, fmt.Errorf("--home is %q; write NAME=URL or NAME=FILE", a.home)
		}
		token, err := os.ReadFile(a.tokenFile)
		if err != nil {
			return cfg, fmt.Errorf("--home-token-file cannot be read: %w", err)
		}
		cfg.Home = &live.Home{
			Name: name, At: at, Token: strings.TrimSpace(string(token)), Instance: a.instance, CertFile: a.certFile, Rule: transfer.Rule(a.rule), Master: a.master,
		}
	}
	if len(a.world) > 0 {
		cfg.World = &live.World{
			Servers: a.world, Balls: a.balls, Resting: a.resting, Seed: a.seed, Side: a.side * balls.Metre, Sees: a.sees * balls.Metre, Reach: a.reach * balls.Metre / 1000,
			Tick: metasim.Time(a.tick), Balance: metasim.Time(a.balance), Window: a.window, Packet: a.packet, Reads: a.reads,
		}
	}
	if err := cfg.Validate(); err != nil {
		return cfg, fmt.Errorf("%w (metasim authority simserver --help has the flags)", err)
	}
	return cfg, nil
}

func (a *authoritySimserver) carryOut(cmd *cobra.Command, std streams) error {
	cfg, err := a.config()
	if err != nil {
		return badUsage(err)
	}
	ctx, cancel := context.WithCancelCause(cmd.Context())
	defer cancel(nil)
	lines := json.NewEncoder(std.out)
	err = live.Run(ctx, cfg, readCommands(std.in, std.err), func(e live.Event) {
		if err := lines.Encode(e); err != nil {
			cancel(err) // nobody would hear of what it owns
		}
		if e.Event == "ready" && a.readyFile != "" {
			if err := atomicfile.Write(a.readyFile, []byte(e.URL+"\n"), 0o600); err != nil {
				cancel(err)
			}
		}
	})
	if err == nil && cmd.Context().Err() == nil { // no signal has ended it
		err = context.Cause(ctx)
	}
	return failed(err)
}

// longestCommand is the longest line, in bytes, that may be a command.
const longestCommand = 4096

// readCommands reads commands until the input ends.
func readCommands(in io.Reader, complain io.Writer) <-chan live.Command {
	commands := make(chan live.Command)
	go func() {
		defer close(commands)
		for lines := bufio.NewReaderSize(in, longestCommand); ; {
			line, long, err := lines.ReadLine()
			line = bytes.Clone(line)                // the next one takes its place
			for rest := long; rest && err == nil; { // a line that is no command is no end of the input, however long it is
				_, rest, err = lines.ReadLine()
			}
			if err != nil {
				return
			}
			words := strings.Fields(string(line))
			if len(words) == 0 && !long {
				continue
			}
			c, ok := command(words)
			if !ok || long {
				fmt.Fprintf(complain, "%q is no command; write: give ENTITY SERVER, take ENTITY, rule ENTITY deny|ask|allow, yes ENTITY, no ENTITY, leave, or owns\n", line[:min(len(line), 200)])
				continue
			}
			commands <- c
		}
	}()
	return commands
}

func command(words []string) (live.Command, bool) {
	switch name, n := words[0], len(words); {
	case name == "give" && n == 3:
		return live.Command{Give: words[1], To: words[2]}, true
	case name == "take" && n == 2:
		return live.Command{Take: words[1]}, true
	case name == "rule" && n == 3 && slices.Contains([]string{"deny", "ask", "allow"}, words[2]):
		return live.Command{Of: words[1], Rule: transfer.Rule(words[2])}, true
	case (name == "yes" || name == "no") && n == 2:
		return live.Command{Answer: words[1], Yes: name == "yes"}, true
	case name == "leave" && n == 1:
		return live.Command{Leave: true}, true
	case name == "owns" && n == 1:
		return live.Command{}, true
	}
	return live.Command{}, false
}
