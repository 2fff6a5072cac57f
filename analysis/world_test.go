package analysis_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"io"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/analysis/report"
	"metasim/analysis/trace"
	"metasim/metasim"
	"metasim/record/journal"
)

// A world is a run with exact wall-clock stamps: its actors compute for as long as they say, all at once, and what they
// say reaches a real dispatcher after a flight of its own. It is written down as a journal would be.
type world struct {
	config   metasim.Config
	actors   []*actor // in order of name
	flight   int64    // wall clock from an actor to the dispatcher, and back
	timed    bool     // actors tell how long they computed
	distinct bool     // no two clients ever hold a third alike
	cores    int      // so many may compute at once, in turns, and tell the processor time that they took; 0: all
	measured bool     // actors tell how long they waited for a core
	busy     int
	jobs     []job // wait for a core
	d        *metasim.Dispatcher
	entries  []journal.Entry
	pending  []scheduled
	order    int
}

// An actor does something at an instant, with the messages that are due there, and says what.
type actor struct {
	name       string
	pubs, subs []string
	reaction   metasim.Time
	first      metasim.Time // its first timer; Forever for one that only answers
	steps      bool         // messages do not wake it
	late       int64        // how much longer than the others it initializes, in wall-clock time
	merges     bool         // it says nothing between two things that it does, if it can
	promises   bool         // it steps, and says while it computes that it sends nothing before its next timer
	again      bool         // it waits again at each authorization, before it does anything
	act        func(at metasim.Instant, messages []metasim.Message) outcome

	now, timer, granted metasim.Instant
	promised            metasim.Instant
	inbox               []metasim.Message
	acked               uint64
	computed            int64 // since it last told
	cpu, waited         int64 // since it went on
	told                bool
	waiting             bool
	hasWaited           bool
	left                bool
}

// An outcome is what an actor does at an instant: it computes, then sends, and sets its next timer.
type outcome struct {
	work  int64
	sleep int64 // after that, without a core
	sends []string
	size  int          // of each payload
	next  metasim.Time // 0: it keeps the one that it has
	leave bool
}

// A scheduled function is called at a wall-clock time.
type scheduled struct {
	wall  int64
	order int
	do    func()
}

func (w *world) at(wall int64, do func()) {
	w.order++
	w.pending = append(w.pending, scheduled{wall, w.order, do})
}

// fixed gives each link the delay of its channel.
type fixed map[string]metasim.Time

func (f fixed) Link(_, _, channel string) metasim.Link { return steady(f[channel]) }

type steady metasim.Time

func (s steady) Min() metasim.Time                          { return metasim.Time(s) }
func (s steady) Earliest(x metasim.Instant) metasim.Instant { return x.Add(metasim.Time(s)) }
func (s steady) Transit(dues []metasim.Instant, _ uint64, sent metasim.Instant, _ int) []metasim.Instant {
	return append(dues, sent.Add(metasim.Time(s)))
}

// skewed gives each link a little more, and each another.
type skewed struct{ fixed }

func (s skewed) Link(from, to, channel string) metasim.Link {
	return steady(s.fixed[channel] + skew(from+">"+to))
}

const much = 1_000_000

// skew is a number below much that is like no other.
func skew(name string) metasim.Time {
	sum := sha256.Sum256([]byte(name))
	return metasim.Time(binary.LittleEndian.Uint64(sum[:]) % much)
}

// ragged links lose some of what goes over them, bring some twice, and take longer for some.
type ragged struct{ metasim.Delays }

func (r ragged) Link(from, to, channel string) metasim.Link {
	return raggedLink{r.Delays.Link(from, to, channel).(steady)}
}

type raggedLink struct{ steady }

func (l raggedLink) Transit(dues []metasim.Instant, n uint64, sent metasim.Instant, size int) []metasim.Instant {
	if n%7 == 3 {
		return dues
	}
	due := sent.Add(metasim.Time(l.steady).Add(metasim.Time(3 * (n % 3))))
	if n%5 == 2 {
		dues = append(dues, due)
	}
	return append(dues, due)
}

const startWall = 1000 // something must have been before Begin

// record runs a world, and returns what it was.
func record(t require.TestingT, w *world) trace.Source {
	slices.SortFunc(w.actors, func(a, b *actor) int { return cmp.Compare(a.name, b.name) })
	w.config.Clients = nil
	for _, a := range w.actors {
		w.config.Clients = append(w.config.Clients, a.name)
	}
	var err error
	w.d, err = metasim.New(w.config)
	require.NoError(t, err)
	for i, a := range w.actors {
		w.step(0, &metasim.Join{Client: metasim.ClientID(i), Publications: a.pubs, Subscriptions: a.subs, Reaction: a.reaction})
	}
	w.step(startWall, &metasim.Begin{})
	for i, a := range w.actors {
		a.timer = metasim.At(a.first)
		ready := startWall + a.late + w.flight
		w.at(ready, func() { w.poll(ready, metasim.ClientID(i)) })
	}
	for len(w.pending) > 0 {
		w.pass(t)
	}
	for _, a := range w.actors {
		require.True(t, a.left, "%s is still there at %v, with a timer at %v", a.name, a.now, a.timer)
	}
	return trace.Source{Config: w.config, Cores: w.cores, Journal: &memoryJournal{entries: w.entries}}
}

// pass does all that is to happen next, and then settles.
func (w *world) pass(t require.TestingT) {
	wall := slices.MinFunc(w.pending, func(a, b scheduled) int { return cmp.Compare(a.wall, b.wall) }).wall
	var now []scheduled
	w.pending = slices.DeleteFunc(w.pending, func(o scheduled) bool {
		if o.wall == wall {
			now = append(now, o)
		}
		return o.wall == wall
	})
	slices.SortFunc(now, func(a, b scheduled) int { return cmp.Compare(a.order, b.order) })
	for _, o := range now {
		o.do()
	}
	w.take(wall, nil, w.d.Settle())
}

func (w *world) step(wall int64, ev metasim.Event) { w.take(wall, ev, w.d.Step(ev)) }

// take writes down an entry, and carries it out.
func (w *world) take(wall int64, ev metasim.Event, effects []metasim.Effect) {
	e := journal.Entry{Wall: wall, Event: ev}
	for _, effect := range effects {
		switch x := effect.(type) {
		case *metasim.Queue:
			y := *x
			e.Effects = append(e.Effects, &y)
		case *metasim.Lose:
			y := *x
			e.Effects = append(e.Effects, &y)
		case *metasim.Deliver:
			y := *x
			e.Effects = append(e.Effects, &y)
			a := w.actors[x.To]
			a.inbox = append(a.inbox, x.Message)
		case *metasim.Authorize:
			y := *x
			e.Effects = append(e.Effects, &y)
			a := w.actors[x.To]
			a.granted = x.Until
			if a.waiting {
				a.waiting = false
				w.at(wall+w.flight, func() { w.goOn(wall+w.flight, y.To) }) // x is lent
			}
		default:
			e.Effects = append(e.Effects, effect)
		}
	}
	if ev != nil || len(effects) > 0 {
		w.entries = append(w.entries, e)
	}
}

// report is what an actor says of itself.
func (w *world) report(a *actor) metasim.Report {
	computed := a.computed
	if a.computed = 0; !w.timed {
		computed = 0
	}
	if w.cores > 0 && !a.told { // the first report shows that the client measures
		a.told, computed = true, max(1, computed)
	}
	return metasim.Report{
		Computed: computed, Now: a.now, NoSendBefore: metasim.Later(a.promised, a.now), NextEvent: metasim.Later(a.timer, a.now), Acked: a.acked,
	}
}

// measure makes a report say how long an actor waited for a core, where actors tell that. They also tell it before they wait.
func (w *world) measure(a *actor, r *metasim.Report) {
	if w.measured {
		r.CPU, r.CoreWait = max(1, a.cpu), max(1, a.waited)
	}
	a.cpu, a.waited = 0, 0
}

func (w *world) poll(wall int64, id metasim.ClientID) {
	a := w.actors[id]
	a.waiting = true
	r := w.report(a)
	if w.cores > 0 {
		r.CPU = a.cpu
		w.measure(a, &r)
	}
	w.step(wall, &metasim.PollWait{Client: id, Report: r, Want: r.NextEvent, Messages: !a.steps})
}

// goOn lets an actor do what it can next.
func (w *world) goOn(wall int64, id metasim.ClientID) {
	a := w.actors[id]
	if a.hasWaited = a.again && !a.hasWaited; a.hasWaited && a.granted != w.d.End() {
		w.poll(wall, id)
		return
	}
	next := a.timer
	if len(a.inbox) > 0 && !a.steps {
		next = metasim.Earlier(next, a.inbox[0].Due)
	}
	if !next.Before(a.granted) {
		if a.granted == w.d.End() {
			a.left = true
			w.step(wall, &metasim.Leave{Client: id, Now: a.now, Acked: a.acked})
			return
		}
		w.poll(wall, id)
		return
	}
	a.now = next
	n := 0
	for n < len(a.inbox) && !next.Before(a.inbox[n].Due) {
		n++
	}
	messages := a.inbox[:n:n]
	a.inbox = a.inbox[n:]
	a.acked += uint64(n)
	if !next.Before(a.timer) {
		a.timer = metasim.Infinity
	}
	d := a.act(next, messages)
	if d.next > 0 {
		a.timer = metasim.At(d.next)
	}
	if a.promises && len(d.sends) == 0 {
		w.at(wall+d.work/2+w.flight, func() {
			a.promised = metasim.Later(a.promised, a.timer)
			w.step(wall+d.work/2+w.flight, &metasim.Promise{Client: id, NoSendBefore: a.promised})
		})
	}
	w.compute(wall, d.work, func(end int64) {
		a.waited += end - wall - d.work
		end += d.sleep
		a.computed += end - wall
		a.cpu += d.work
		w.at(end+w.flight, func() { w.done(end+w.flight, id, d) })
	})
}

// A job is what an actor computes.
type job struct {
	left int64
	then func(end int64)
}

// compute calls then at once, with when the work is done; where cores are shared, when it is.
func (w *world) compute(wall, work int64, then func(end int64)) {
	if w.cores == 0 || work == 0 {
		then(wall + work)
		return
	}
	w.jobs = append(w.jobs, job{work, then})
	w.share(wall)
}

// share gives free cores to the jobs that wait, in turns.
func (w *world) share(wall int64) {
	for w.busy < w.cores && len(w.jobs) > 0 {
		j := w.jobs[0]
		w.jobs = w.jobs[1:]
		w.busy++
		slice := min(j.left, us)
		w.at(wall+slice, func() {
			w.busy--
			if j.left -= slice; j.left > 0 {
				w.jobs = append(w.jobs, j)
			} else {
				j.then(wall + slice)
			}
			w.share(wall + slice)
		})
	}
}

// done says what an actor has done.
func (w *world) done(wall int64, id metasim.ClientID, d outcome) {
	a := w.actors[id]
	for _, channel := range d.sends {
		w.step(wall, &metasim.Send{Client: id, Channel: channel, Sent: a.now, Payload: make([]byte, d.size)})
	}
	next := a.timer
	if len(a.inbox) > 0 && !a.steps {
		next = metasim.Earlier(next, a.inbox[0].Due)
	}
	switch {
	case d.leave:
		a.left = true
		w.step(wall, &metasim.Leave{Client: id, Now: a.now, Acked: a.acked})
	case next.Before(a.granted) && a.merges && len(d.sends) == 0:
		w.at(wall, func() { w.goOn(wall, id) })
	case next.Before(a.granted):
		r := w.report(a)
		if w.measured {
			w.measure(a, &r)
		}
		w.step(wall, &metasim.Advance{Client: id, Report: r})
		w.at(wall, func() { w.goOn(wall, id) })
	default:
		w.poll(wall, id)
	}
}

// A memoryJournal is a Journal in memory.
type memoryJournal struct {
	entries []journal.Entry
	end     error // nil: io.EOF
}

func (t *memoryJournal) Next() (journal.Entry, error) {
	if len(t.entries) == 0 {
		return journal.Entry{}, cmp.Or(t.end, io.EOF)
	}
	e := t.entries[0]
	t.entries = t.entries[1:]
	return e, nil
}

func analyze(t *testing.T, w *world) (*trace.Timeline, *report.Report) {
	t.Helper()
	tl, err := trace.Read(record(t, w))
	require.NoError(t, err)
	return tl, report.New(tl)
}
