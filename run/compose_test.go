package run_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/record/replay"
	"metasim/run"
	"metasim/scenarios"
)

var compositions = flag.Int("compositions", 20, "how many composed scenarios TestAComposedRunIsTheFlatOne tries")

// A part is a scenario of a composition. Its channels are C0 to C4, and what it exposes keeps its number, so that nothing goes round.
type part struct {
	name    string
	around  *part
	inside  []*part
	expose  map[string]string
	clients []partClient
	links   []partLink
}

type partClient struct{ name, model, out, in string }

type partLink struct{ from, to, channel, rest string }

var allChannels = []string{"C0", "C1", "C2", "C3", "C4"}

// compose draws a composition.
func compose(r *rand.Rand, name string, around *part, depth int) *part {
	p := &part{name: name, around: around, expose: map[string]string{}}
	for i, own := range allChannels {
		if around != nil && r.IntN(2) == 0 {
			p.expose[own] = fmt.Sprintf("C%d", i)
		}
	}
	for i := range 2 + r.IntN(3) {
		low := r.IntN(4)
		c := partClient{name: fmt.Sprintf("c%s%d", strings.ReplaceAll(name, "-", ""), i), out: allChannels[low+1+r.IntN(4-low)], in: allChannels[low]}
		c.model = []string{"source", "echo", "echo", "sink"}[r.IntN(4)]
		if c.model == "sink" {
			c.in = []string{".*", "C[0-2]", "^C3|C1", "s.*/C4", "C2"}[r.IntN(5)]
		}
		p.clients = append(p.clients, c)
	}
	p.clients = append(p.clients, partClient{name: "c" + strings.ReplaceAll(name, "-", "") + "all", model: "sink", in: ".*"})
	rests := []string{"delay: 2ms", "delay: {uniform: {min: 1ms, max: 9ms}}", "delay: {normal: {mean: 5ms, stddev: 2ms, min: 1ms}}, order: fifo",
		"delay: 3ms, loss: 0.3", "delay: 0s", "delay: 1ms, duplicate: 0.4"}
	for range r.IntN(4) {
		l := partLink{rest: rests[r.IntN(len(rests))]}
		if r.IntN(2) == 0 {
			l.from = p.clients[r.IntN(len(p.clients))].name
		}
		l.channel = []string{"", "C1", "C*", "C3", "*4"}[r.IntN(5)]
		p.links = append(p.links, l)
	}
	if depth > 0 {
		for i := range 1 + r.IntN(2) {
			p.inside = append(p.inside, compose(r, fmt.Sprintf("s%d-%d", depth, i), p, depth-1))
		}
	}
	return p
}

func (p *part) prefix() string {
	if p.around == nil {
		return ""
	}
	return p.around.prefix() + p.name + "/"
}

func (p *part) full(own string) string {
	if outer, exposed := p.expose[own]; exposed {
		return p.around.full(outer)
	}
	return p.prefix() + own
}

// names maps the part's own name of each channel, in it or in parts inside it, to the full name.
func (p *part) names() map[string]string {
	all := map[string]string{}
	for _, own := range allChannels {
		all[own] = p.full(own)
	}
	for _, q := range p.inside {
		for _, full := range q.names() {
			if own, inside := strings.CutPrefix(full, p.prefix()); inside {
				all[own] = full
			}
		}
	}
	for own, full := range all { // what is exposed has one name here
		if p.full(own) != full {
			delete(all, own)
		}
	}
	return all
}

// matching returns the full names of the part's channels that an expression matches, in order.
func (p *part) matching(expr string) (full []string) {
	e := regexp.MustCompile("^(?:" + expr + ")$")
	for own, name := range p.names() {
		if e.MatchString(own) {
			full = append(full, name)
		}
	}
	slices.Sort(full)
	return slices.Compact(full)
}

func clientText(name, model, out, in string) string {
	switch model {
	case "source":
		return fmt.Sprintf("  - {name: %s, model: source, with: {channel: %s, period: 7ms, count: 4}}\n", name, out)
	case "echo":
		return fmt.Sprintf("  - {name: %s, model: echo, with: {in: %s, out: %s}}\n", name, in, out)
	}
	return fmt.Sprintf("  - {name: %s, model: sink, with: {channels: [%s]}}\n", name, in)
}

// write writes the part as a file that names those inside it, and returns its name.
func (p *part) write(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "name: composed\nseed: 5\nuntil: 100ms\nclients:\n")
	for _, c := range p.clients {
		in := c.in
		if c.model == "sink" {
			in = fmt.Sprintf("%q", in)
		}
		b.WriteString(clientText(c.name, c.model, c.out, in))
	}
	for _, q := range p.inside {
		file := q.write(t, filepath.Join(dir, q.name))
		var expose []string
		for own, outer := range q.expose {
			expose = append(expose, fmt.Sprintf("{%s: %s}", own, outer))
		}
		fmt.Fprintf(&b, "  - {name: %s, model: scenario, with: {file: %s/%s, expose: [%s]}}\n", q.name, q.name, file, strings.Join(expose, ", "))
	}
	b.WriteString("links:\n  - {delay: 1ms}\n")
	for _, l := range p.links {
		b.WriteString(linkText(l.from, l.to, l.channel, l.rest))
	}
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "part.metasim.yaml"), []byte(b.String()), 0o600))
	return "part.metasim.yaml"
}

func linkText(from, to, channel, rest string) string {
	b := "  - {"
	for _, kv := range [][2]string{{"from", from}, {"to", to}, {"channel", channel}} {
		if kv[1] != "" {
			b += fmt.Sprintf("%s: %q, ", kv[0], kv[1])
		}
	}
	return b + rest + "}\n"
}

// flat adds to the clients and links of the same scenario as one writes it by hand, one rule for each channel.
func (p *part) flat(clients, links *strings.Builder) {
	for _, c := range p.clients {
		in := p.full(c.in)
		if c.model == "sink" {
			if in = strings.Join(p.matching(c.in), ", "); in == "" {
				in = "nothing"
			}
		}
		clients.WriteString(clientText(p.prefix()+c.name, c.model, p.full(c.out), in))
	}
	all := ""
	if p.around != nil {
		all = p.prefix() + "*"
		links.WriteString(linkText(all, all, "", "delay: 0s"))
	}
	links.WriteString(linkText(all, all, "", "delay: 1ms"))
	for _, l := range p.links {
		from := all
		if l.from != "" {
			from = p.prefix() + l.from
		}
		channels := []string{""}
		if l.channel != "" {
			channels = p.matching(strings.ReplaceAll(l.channel, "*", ".*"))
		}
		if p.around == nil && l.channel != "" {
			channels = []string{l.channel} // a star is for those inside too
		}
		for _, channel := range channels {
			links.WriteString(linkText(from, all, channel, l.rest))
		}
	}
	for _, q := range p.inside {
		q.flat(clients, links)
	}
}

// A run of a composed scenario has the digests of the one with full names that a person would write.
func TestAComposedRunIsTheFlatOne(t *testing.T) {
	t.Parallel()
	delivered := 0
	for seed := range *compositions {
		p := compose(rand.New(rand.NewPCG(uint64(seed), 37)), "", nil, 1+seed%2)
		dir := filepath.Join(t.TempDir(), "a b")
		file := filepath.Join(dir, p.write(t, dir))
		composed, _, err := scenarios.Load(file, scenarios.Overrides{})
		require.NoError(t, err, "seed %d", seed)
		var clients, links strings.Builder
		p.flat(&clients, &links)
		text := "name: composed\nseed: 5\nuntil: 100ms\nclients:\n" + clients.String() + "links:\n" + links.String()
		want := carryOut(t, parse(t, text), options(t, "mem"))
		got := carryOut(t, composed, options(t, "mem"))
		if !assert.Equal(t, want.Digests, got.Digests, "seed %d", seed) {
			written, err := os.ReadFile(file)
			require.NoError(t, err)
			t.Fatalf("composed:\n%s\nflat:\n%s", written, text)
		}
		delivered += int(got.Messages.Delivered)
		if seed < 2 {
			o := options(t, "unix")
			o.Pack = 2
			require.Equal(t, want.Digests, carryOut(t, composed, o).Digests, "seed %d over unix", seed)
			a, err := replay.Dispatcher(recorded(t, got.RunDir))
			require.NoError(t, err)
			require.Nil(t, a.Difference)
		}
	}
	require.Greater(t, delivered, 20**compositions, "hardly anything happens in these scenarios")
}

// parrot says who it is and what it hears, by the names that it knows. With a file as its argument it dies once, and makes the file.
func parrot(args []string) error {
	ctx := context.Background()
	b := client.NewBuilder("")
	var heard []string
	out := b.Publication("SAID")
	died := func() bool { return len(args) == 0 || os.WriteFile(args[0], nil, 0o600) != nil }
	if len(args) > 0 {
		if _, err := os.Stat(args[0]); err == nil {
			args = nil
		}
	}
	var c *client.Client
	err := b.Subscribe("^S.*|T[A-Z]+", func(m client.Message) error {
		heard = append(heard, fmt.Sprintf("%s %s %v %x", m.From, m.Channel, m.From == c.Name(), m.Payload))
		if len(heard) == 5 && !died() {
			os.Exit(5)
		}
		if err := c.SetResult(heard); err != nil || m.Channel != "TICK" {
			return err
		}
		return out.Publish([]byte(c.Name()))
	})
	if err != nil {
		return err
	}
	if c, err = b.Complete(ctx); err != nil {
		return err
	}
	heard = append(heard, c.Name(), c.About().Entry)
	return c.Run(ctx)
}

const talk = `
name: talk
until: 50ms
clients:
  - {name: tick, model: source, with: {channel: TICK, period: 10ms}}
  - {name: polly, run: [BIN], env: [TEST_PROGRAM=parrot]}
  - {name: jack, count: 2, run: [BIN], env: [TEST_PROGRAM=parrot], publish: [SAID], subscribe: ["^S.*|T[A-Z]+"]}
links: [{delay: 1ms}]
`

// Programs that know nothing of it hear in a scenario inside of another one what they hear in it alone: also in one that was started again.
func TestAProgramInsideHearsWhatItHearsAlone(t *testing.T) {
	t.Parallel()
	alone := carryOut(t, parse(t, talk), options(t, "unix"))
	results := map[string]string{}
	for _, c := range alone.Clients {
		results[c.Name] = string(c.Result)
	}
	require.Contains(t, results["polly"], "jack-1 SAID")
	require.Contains(t, results["polly"], "polly SAID true")
	dir := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "talk.yaml"), []byte(strings.ReplaceAll(talk, "BIN", self)), 0o600))
	main := filepath.Join(dir, "main.yaml")
	require.NoError(t, os.WriteFile(main, []byte(`
name: main
until: 50ms
clients:
  - {name: room, count: 2, model: scenario, with: {file: talk.yaml, expose: [{SAID: NOISE}]}}
  - {name: ear, model: sink, with: {channels: [NOISE]}}
`), 0o600))
	var want *run.Outcome
	for _, died := range []bool{false, true} {
		set := []string{"clients.room.with.expose=[]"}
		if died {
			set = append(set, fmt.Sprintf(`clients.room.clients.polly.run=[%q, %q]`, self, filepath.Join(dir, "died")), "clients.room.clients.polly.on_exit=restart")
		}
		sc, _, err := scenarios.Load(main, scenarios.Overrides{Set: set})
		require.NoError(t, err)
		o := options(t, "unix")
		o.KeepEnv = true
		got := carryOut(t, sc, o)
		for _, c := range got.Clients {
			if _, own, inside := strings.Cut(c.Name, "/"); inside {
				require.JSONEq(t, results[own], string(c.Result), c.Name)
			}
		}
		if want == nil {
			want = got
		}
		require.Equal(t, want.Digests, got.Digests)
		require.Equal(t, died, slices.ContainsFunc(got.Clients, func(c run.ClientOutcome) bool { return c.Restarts > 0 }))
	}
	journal, err := os.ReadFile(filepath.Join(want.RunDir, "journal"))
	require.NoError(t, err)
	cutShort(t, want.RunDir, journal[:len(journal)/2])
	require.Equal(t, want.Digests, resume(t, want.RunDir).Digests, "its programs have repeated what they did")
	report, err := run.ReplayClient(t.Context(), recorded(t, want.RunDir), "room-1/jack-0", run.ReplayOptions{})
	require.NoError(t, err)
	require.Nil(t, report.Difference)
	require.Positive(t, report.Sent)
}
