package analysis_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/analysis/predict"
	"metasim/analysis/trace"
	"metasim/delay"
	"metasim/metasim"
)

// The scenarios of predict/testdata/known as worlds, whose wall-clock times are exact: what each takes follows from what its clients do.
// Times are milliseconds of the wall clock, and of the scenario.

// A part is a client of such a world.
type part struct {
	name, in, out string
	period        int  // of its timer; 0: it answers
	send          int  // it sends once in so many periods; 0: in each
	starts        bool // it sends first
	core, sleep   float64
	promise       bool
	after         int
	declare       bool
}

func (p part) actor() *actor {
	d := outcome{work: int64(p.core * 1e6), sleep: int64(p.sleep * 1e6)}
	a := &actor{name: p.name, first: metasim.Forever}
	if p.in != "" {
		a.subs = []string{p.in}
	}
	var sends []string
	if p.out != "" {
		sends = []string{p.out}
		a.pubs = sends
	}
	if p.period > 0 {
		return p.steps(a, d, sends)
	}
	if p.starts {
		a.first = 0
	}
	if p.declare {
		a.reaction = metasim.Time(p.after) * ms
	}
	a.act = func(at metasim.Instant, messages []metasim.Message) outcome {
		switch {
		case p.after > 0 && len(messages) > 0:
			return outcome{work: d.work, sleep: d.sleep, next: at.Time + metasim.Time(p.after)*ms}
		case p.after > 0:
			return outcome{sends: sends}
		case len(messages) == 0:
			return outcome{sends: sends}
		}
		n := int64(len(messages))
		return outcome{work: n * d.work, sleep: n * d.sleep, sends: sends}
	}
	return a
}

// steps makes an actor step, whatever it hears.
func (p part) steps(a *actor, d outcome, sends []string) *actor {
	period, every, n := metasim.Time(p.period)*ms, max(1, p.send), 0
	a.first = period
	a.act = func(at metasim.Instant, _ []metasim.Message) outcome {
		if a.timer != metasim.Infinity {
			return outcome{} // what it hears costs it nothing
		}
		n++
		did := d
		if n%every == 0 {
			did.sends = sends
		}
		if p.promise {
			a.promised = metasim.At(at.Time + period*metasim.Time(every-n%every))
		}
		did.next = at.Time + period
		return did
	}
	return a
}

// A hand is what a scenario takes, known by hand.
type hand struct {
	name    string
	cores   int
	until   float64
	delays  fixed
	parts   []part
	takes   float64
	changes map[string]float64
}

func many(n int, p part) (all []part) {
	for i := range n {
		q := p
		q.name = fmt.Sprint(p.name, i)
		all = append(all, q)
	}
	return all
}

// fourPairs send messages to and fro.
func fourPairs() (pairs []part, delays fixed) {
	delays = fixed{}
	for i := range 4 {
		ping, pong := fmt.Sprint("PING", i), fmt.Sprint("PONG", i)
		delays[ping], delays[pong] = ms, ms
		pairs = append(pairs, part{name: fmt.Sprint("a", i), in: pong, out: ping, starts: true, sleep: 2},
			part{name: fmt.Sprint("b", i), in: ping, out: pong, sleep: 2})
	}
	return pairs, delays
}

// ringOfFour send one message round.
func ringOfFour() (ring []part, delays fixed) {
	delays = fixed{}
	for i := range 4 {
		in, out := fmt.Sprint("HOP", i), fmt.Sprint("HOP", (i+1)%4)
		delays[in] = ms / 10
		ring = append(ring, part{name: fmt.Sprint("node", i), in: in, out: out, starts: i == 0, sleep: 1})
	}
	return ring, delays
}

func hands() []hand {
	all := fixed{"ALL": ms}
	step := func(name string, period int, core, sleep float64) part {
		return part{name: name, in: "ALL", out: "ALL", period: period, core: core, sleep: sleep}
	}
	pairs, delays := fourPairs()
	ring, hops := ringOfFour()
	return []hand{
		{"sleepers", 2, 61, all, many(8, step("w", 1, 0, 5)), 300, map[string]float64{"cores=1": 300, "client(w0).speed=5": 300, "cores=8": 300}},
		{"pairs", 2, 200.5, delays, pairs, 400, map[string]float64{"cores=1": 400, "client(a0).speed=2": 400}},
		{
			"in-phase", 2, 610, fixed{}, []part{{name: "a", in: "B", out: "A", period: 10, sleep: 5}, {name: "b", in: "A", out: "B", period: 10, sleep: 5}},
			300, map[string]float64{"cores=1": 300, "link(*->*).delay=1ms": 300, "client(*).promise=all": 300},
		},
		{
			"request-answer", 2, 610, fixed{}, []part{{name: "a", in: "B", out: "A", period: 10, sleep: 2}, {name: "b", in: "A", out: "B", sleep: 3}},
			300, map[string]float64{"cores=1": 300, "client(b).speed=3": 180, "link(b->a).delay=20ms": 182, "link(*->*).delay=20ms": 182},
		},
		{"ring-100us", 2, 20.05, hops, ring, 200, map[string]float64{"cores=1": 200, "client(node0).speed=2": 175, "link(*->*).delay=1ms": 200}},
		{
			"reaction", 2, 300, fixed{}, []part{
				{name: "a", in: "DOWN", out: "UP", period: 2, send: 10, sleep: 2}, {name: "b", in: "DOWN", out: "UP", period: 3, send: 10, sleep: 2},
				{name: "chair", in: "UP", out: "DOWN", after: 4, declare: true},
			}, 298, map[string]float64{"client(chair).reaction=0s": 398, "cores=1": 298},
		},
		{
			"turns", 2, 300, fixed{}, []part{
				{name: "a", in: "B", out: "A", period: 2, send: 50, sleep: 2}, {name: "b", in: "A", out: "B", period: 3, send: 50, sleep: 2},
			}, 398, map[string]float64{"link(*->*).delay=10ms": 298, "client(*).promise=all": 298, "cores=1": 398},
		},
		{
			"slow-one", 2, 31, all, append(many(3, step("quick", 1, 0, 2)), step("slow", 1, 0, 10)), 300,
			map[string]float64{"client(slow).speed=2": 150, "client(slow).speed=5": 60, "client(slow).period=2ms": 180, "cores=1": 300},
		},
		{
			"pipeline", 2, 63, fixed{"A": ms, "B": ms}, []part{
				{name: "source", out: "A", period: 1, sleep: 1}, {name: "middle", in: "A", out: "B", sleep: 5}, {name: "sink", in: "B", sleep: 2},
			}, 305, map[string]float64{"client(middle).speed=5": 124, "client(sink).speed=2": 305},
		},
		{
			"hub", 2, 605, fixed{"UP": ms}, append(many(4, part{name: "beacon", out: "UP", period: 10, sleep: 2}), part{name: "hub", in: "UP", sleep: 1}), 240,
			map[string]float64{"client(hub).speed=2": 121, "link(*->hub).delay=5ms": 240, "cores=1": 240},
		},
		{"spin", 2, 41, all, many(4, step("w", 1, 3, 0)), 240, map[string]float64{"cores=1": 480, "cores=4": 120, "client(*).speed=2": 120}},
		{"half", 2, 31, all, many(4, step("w", 1, 3, 3)), 270, map[string]float64{"cores=1": 450, "cores=4": 180}},
		{
			"loop", 2, 505, fixed{}, []part{
				{name: "a", in: "C", out: "A", period: 10, sleep: 2}, {name: "b", in: "A", out: "B", sleep: 2}, {name: "c", in: "B", out: "C", sleep: 2},
			}, 300, map[string]float64{"link(c->a).delay=20ms": 152, "link(c->a).delay=30ms": 104, "cores=1": 300},
		},
		{
			"logger", 2, 62, fixed{"A": ms}, []part{{name: "logger", in: "A", sleep: 5}, {name: "source", out: "A", period: 1, sleep: 1}}, 301,
			map[string]float64{"client(logger).speed=5": 62, "client(source).period=2ms": 151, "cores=1": 301},
		},
		{
			"idle-core", 2, 41, all, []part{step("sleeper", 1, 0, 4), step("spinner", 1, 4, 0)}, 160,
			map[string]float64{"cores=1": 160, "client(spinner).speed=2": 160},
		},
		{
			"device", 2, 300, fixed{"FILTERED": ms}, []part{
				{name: "driver", in: "FILTERED", out: "RAW", period: 2, send: 25, sleep: 2},
				{name: "filter", in: "RAW", out: "FILTERED", period: 3, send: 50, promise: true, core: 2},
			}, 298, map[string]float64{"client(driver).promise=all": 298},
		},
	}
}

func (h *hand) world() *world {
	w := &world{timed: true, measured: true, cores: h.cores, config: metasim.Config{Delays: h.delays, Until: metasim.Time(h.until * 1e6)}}
	for _, p := range h.parts {
		w.actors = append(w.actors, p.actor())
	}
	return w
}

// What is predicted of a run whose answer is known by hand is that answer.
func TestKnownByHand(t *testing.T) {
	const tolerance = 0.03
	for _, h := range hands() {
		tl, err := trace.Read(record(t, h.world()))
		require.NoError(t, err)
		require.InEpsilon(t, h.takes, float64(tl.Wall())/1e6, tolerance, h.name)
		m := predict.New(tl)
		for text, takes := range h.changes {
			c, err := m.Parse(text)
			require.NoError(t, err)
			p, err := m.Predict(c)
			require.NoError(t, err, "%s: %s", h.name, text)
			require.InEpsilon(t, takes, 1000*p.WallS, tolerance, "%s: %s", h.name, text)
		}
	}
}

var delayOf = regexp.MustCompile(`link\(\w+->\w+:(\w+)\)\.delay=(\w+(?:\.\w+)?)`)

// rerun returns how many milliseconds a scenario takes with changes of delays alone; 0: the changes are others.
func (h *hand) rerun(t *testing.T, changes string) float64 {
	t.Helper()
	if len(delayOf.ReplaceAllString(changes, "")) > 1 {
		return 0
	}
	w := h.world()
	delays := fixed{}
	for channel, d := range h.delays {
		delays[channel] = d
	}
	for _, change := range delayOf.FindAllStringSubmatch(changes, -1) {
		d, err := delay.ParseDuration(change[2])
		require.NoError(t, err)
		delays[change[1]] = d
	}
	w.config.Delays = delays
	tl, err := trace.Read(record(t, w))
	require.NoError(t, err)
	return float64(tl.Wall()) / 1e6
}

// The first of the changes that a report lists is the best of those that are listed when they are carried out, and each comes true. Where
// nothing helps, nothing is listed.
func TestRank(t *testing.T) {
	first := map[string]string{
		"turns": "link(a->b:A).delay=1.1ms", "request-answer": "link(b->a:B).delay=11ms", "spin": "cores=4", "half": "cores=4",
		"loop": "link(b->c:B).delay=11ms link(c->a:C).delay=11ms",
	}
	for _, h := range hands() {
		tl, err := trace.Read(record(t, h.world()))
		require.NoError(t, err)
		ranked, err := predict.New(tl).Rank()
		require.NoError(t, err)
		best := ""
		for i, p := range ranked {
			if p.GainShare < 0.01 || strings.Contains(p.Change, ".period=") {
				break // the beginning and the end of the run; less work, which comes last
			}
			if i == 0 {
				best = p.Change
			}
			did := h.rerun(t, p.Change)
			if did == 0 {
				continue
			}
			require.InEpsilon(t, did, 1000*p.WallS, 0.03, "%s: %s", h.name, p.Change)
			require.GreaterOrEqual(t, did, 0.97*1000*ranked[0].WallS, "%s: %s is better than the first", h.name, p.Change)
		}
		require.Equal(t, first[h.name], best, h.name)
	}
}

// A run that waited for cores that something else had is not explained by slow communication: nothing is predicted of it.
func TestABusyMachineIsNotTrusted(t *testing.T) {
	busy := func(cores int) predict.Played {
		h := hand{cores: 1, until: 41, delays: fixed{"ALL": ms}, parts: many(8, part{name: "w", in: "ALL", out: "ALL", period: 1, core: 3})}
		src := record(t, h.world())
		src.Cores = cores
		tl, err := trace.Read(src)
		require.NoError(t, err)
		played, err := predict.New(tl).Played()
		require.NoError(t, err)
		return played
	}
	require.True(t, busy(1).Trusted)
	require.False(t, busy(8).Trusted, "there were eight cores, and the clients had one")
}
