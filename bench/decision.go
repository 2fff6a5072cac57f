package bench

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"metasim/metasim"
)

// A linkGraph is the links between clients, as the dispatcher alone sees them: no sockets, no messages, only reports.
type linkGraph struct {
	out   [][]int // the clients to which each client has links
	delay func(from, to string) metasim.Time
}

// gap is the mean time from one event of a client to its next one.
const gap = metasim.Microsecond

func torusGraph(n int, lookahead metasim.Time) linkGraph {
	width := int(math.Sqrt(float64(n)))
	w := linkGraph{delay: always(lookahead)}
	for i := range width * width {
		w.out = append(w.out, torus(i, width))
	}
	return w
}

// randomGraph has four links from each client to clients drawn at random, with delays drawn evenly from least to most.
func randomGraph(n int, least, most metasim.Time) linkGraph {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	delays := map[[2]string]metasim.Time{}
	w := linkGraph{delay: func(from, to string) metasim.Time { return delays[[2]string{from, to}] }}
	for from := range n {
		w.out = append(w.out, r.Perm(n)[:4])
		for _, to := range w.out[from] {
			draw := rand.New(rand.NewPCG(uint64(from), uint64(to)))
			delays[[2]string{nameOf(from), nameOf(to)}] = least + metasim.Time(draw.Int64N(int64(most-least+1)))
		}
	}
	return w
}

func starGraph(n int, lookahead metasim.Time) linkGraph {
	w := linkGraph{out: make([][]int, n), delay: always(lookahead)}
	for i := 1; i < n; i++ {
		w.out[0] = append(w.out[0], i)
		w.out[i] = []int{0}
	}
	return w
}

// always is one delay for all links.
func always(d metasim.Time) func(from, to string) metasim.Time {
	return func(string, string) metasim.Time { return d }
}

// Link implements metasim.Delays.
func (w linkGraph) Link(from, to, _ string) metasim.Link { return steady(w.delay(from, to)) }

// A steady link takes the same time always.
type steady metasim.Time

func (d steady) Min() metasim.Time                          { return metasim.Time(d) }
func (d steady) Steady() bool                               { return true }
func (d steady) Earliest(x metasim.Instant) metasim.Instant { return x.Add(metasim.Time(d)) }
func (d steady) Transit(dues []metasim.Instant, _ uint64, sent metasim.Instant, _ int) []metasim.Instant {
	return append(dues, sent.Add(metasim.Time(d)))
}

func nameOf(i int) string { return fmt.Sprintf("n%05d", i) }

// channel is what a client publishes on.
func (w linkGraph) channel(i int) string {
	if len(w.out[i]) == 1 {
		return "to " + nameOf(w.out[i][0]) // so that the centre of a star has one subscription
	}
	return nameOf(i)
}

// dispatcher returns a dispatcher that all clients have joined, each with a channel that its recipients subscribe to.
func (w linkGraph) dispatcher() (*metasim.Dispatcher, error) {
	c := metasim.Config{Delays: w}
	in := make([][]string, len(w.out))
	for i, out := range w.out {
		c.Clients = append(c.Clients, nameOf(i))
		for _, to := range out {
			if !slices.Contains(in[to], w.channel(i)) {
				in[to] = append(in[to], w.channel(i))
			}
		}
	}
	d, err := metasim.New(c)
	if err != nil {
		return nil, err
	}
	for i := range w.out {
		join := &metasim.Join{Client: metasim.ClientID(i), Publications: []string{w.channel(i)}, Subscriptions: in[i]}
		if err := fatal(d.Step(join)); err != nil {
			return nil, err
		}
	}
	return d, fatal(d.Step(&metasim.Begin{}))
}

// fatal returns why a run has ended.
func fatal(effects []metasim.Effect) error {
	for _, e := range effects {
		if f, ok := e.(*metasim.Finish); ok {
			return fmt.Errorf("the dispatcher ended the run: %w", f.Err)
		}
	}
	return nil
}

// A driver acts for all clients of a linkGraph as real clients would. In a random order each client that may act at its next event
// does so and reports; where its next event lies beyond its authorization, it waits.
type driver struct {
	d       *metasim.Dispatcher
	r       *rand.Rand
	gaps    []metasim.Time
	clients []drivenClient
	ready   []metasim.ClientID
	count   int
}

type drivenClient struct {
	next    metasim.Instant // its next event
	granted metasim.Instant
	waiting bool
}

func newDriver(w linkGraph) (*driver, error) {
	d, err := w.dispatcher()
	if err != nil {
		return nil, err
	}
	n := len(w.out)
	v := &driver{d: d, r: rand.New(rand.NewPCG(1, 1)), gaps: exponentialGaps(gap), clients: make([]drivenClient, n)}
	for i := range n {
		if err := v.report(metasim.ClientID(i)); err != nil {
			return nil, err
		}
	}
	return v, v.settle()
}

// report is a client that acts at its next event, and then goes on or waits.
func (v *driver) report(id metasim.ClientID) error {
	c := &v.clients[id]
	now := c.next
	v.count++
	c.next = metasim.At(now.Time + v.gaps[v.count%len(v.gaps)])
	r := metasim.Report{Now: now, NoSendBefore: now, NextEvent: c.next}
	if c.next.Before(c.granted) {
		v.ready = append(v.ready, id)
		return fatal(v.d.Step(&metasim.Advance{Client: id, Report: r}))
	}
	c.waiting = true
	return fatal(v.d.Step(&metasim.PollWait{Client: id, Want: c.next, Messages: true, Report: r}))
}

func (v *driver) settle() error {
	effects := v.d.Settle()
	for _, e := range effects {
		a, ok := e.(*metasim.Authorize)
		if !ok {
			continue
		}
		c := &v.clients[a.To]
		c.granted = a.Until
		if c.waiting && c.next.Before(c.granted) {
			c.waiting = false
			v.ready = append(v.ready, a.To)
		}
	}
	return fatal(effects)
}

// drive makes so many reports, with a decision after each, and returns how long they took.
func (v *driver) drive(reports int) (time.Duration, error) {
	began := time.Now()
	for range reports {
		if len(v.ready) == 0 {
			return 0, fmt.Errorf("no client may go on, after %d reports", v.count)
		}
		i := v.r.IntN(len(v.ready))
		id := v.ready[i]
		v.ready[i] = v.ready[len(v.ready)-1]
		v.ready = v.ready[:len(v.ready)-1]
		if err := v.report(id); err != nil {
			return 0, err
		}
		if err := v.settle(); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

// decision is what a report costs the dispatcher: to take it in, and to find out which clients may go on.
func decision() (list []workload) {
	for _, n := range []int{100, 1000, 10_000} {
		add := func(graph, lookahead string, w func() linkGraph) {
			list = append(list, workload{
				name: "decision", params: Params{"graph": graph, "n": n, "lookahead": lookahead}, unit: "us/report", cost: true,
				floor: idOf("raw heap time", Params{"n": n}), first: 2 * n, once: true, slow: n > 1000,
				measure: func(_ context.Context, h *harness, amount int) (sample, error) { return h.decide(w(), amount) },
			})
		}
		add("torus", "0.1 gaps", func() linkGraph { return torusGraph(n, gap/10) })
		add("torus", "0.01 gaps", func() linkGraph { return torusGraph(n, gap/100) })
		add("random degree 4", "10-200", func() linkGraph { return randomGraph(n, 10, 200) })
		add("random degree 4", "1-20", func() linkGraph { return randomGraph(n, 1, 20) })
		add("star", "0.1 gaps", func() linkGraph { return starGraph(n, gap/10) })
	}
	return list
}

// decide warms up with so many reports, then measures for a while, in parts of which it takes the median.
func (h *harness) decide(w linkGraph, warm int) (sample, error) {
	v, err := newDriver(w)
	if err != nil {
		return sample{}, err
	}
	took, err := v.drive(warm)
	if err != nil {
		return sample{}, err
	}
	part := 60 * time.Millisecond
	if !h.Quick {
		part = 400 * time.Millisecond
	}
	reports := int(max(100, float64(warm)*part.Seconds()/took.Seconds()))
	var values []float64
	for range 3 {
		if took, err = v.drive(reports); err != nil {
			return sample{}, err
		}
		values = append(values, micros(took, reports))
	}
	slices.Sort(values)
	return sample{value: values[1], took: took}, nil
}
