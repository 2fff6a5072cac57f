package trace

import (
	"cmp"
	"errors"
	"io"
	"reflect"
	"slices"

	"metasim/metasim"
	"metasim/record"
	"metasim/record/journal"
)

// Open returns a recorded run as a Source for one Read, which closes its journal.
func Open(run *record.Run) (Source, error) {
	config, err := run.Config()
	if err != nil {
		return Source{}, err
	}
	inside, err := run.InProcess()
	if err != nil {
		return Source{}, err
	}
	cores, err := run.Cores()
	if err != nil {
		return Source{}, err
	}
	models, err := run.Models()
	if err != nil {
		return Source{}, err
	}
	scenario, err := run.Scenario()
	if err != nil {
		return Source{}, err
	}
	src := Source{Config: config, Cores: cores, Inside: inside, Transport: run.Manifest.Transport, BuiltIn: len(models) == len(run.Manifest.Clients), Rate: scenario.Rate, Scopes: scenario.Scopes}
	if t := run.Manifest.Traffic; t != nil {
		src.Rounds = int64(1e9 * t.RoundsS)
	}
	src.Journal, err = run.OpenJournal()
	return src, err
}

// Read reads a run, and closes its Journal if that is an io.Closer. Its errors are a *DivergedError, journal.ErrForeign, one of the
// Config, or one of the Journal other than a *journal.TornError, which ends the Timeline early and is noted in it.
func Read(src Source) (*Timeline, error) {
	if c, ok := src.Journal.(io.Closer); ok {
		defer func() { _ = c.Close() }() // a file that is only read
	}
	t, err := newTracer(src)
	if err != nil {
		return nil, err
	}
	var pass []journal.Entry // of one pass of the server: they have the same wall-clock time
	for {
		e, err := src.Journal.Next()
		if err == nil && (len(pass) == 0 || e.Wall == pass[0].Wall) {
			pass = append(pass, e)
			continue
		}
		if err := t.take(pass); err != nil {
			return nil, err
		}
		switch {
		case errors.Is(err, io.EOF):
			return t.close()
		case errors.As(err, new(*journal.TornError)):
			t.tl.Torn = err
			t.diverged = nil // the last entry may lack effects
			return t.close()
		case err != nil:
			return nil, err
		}
		clear(pass) // so that payloads can be freed
		pass = append(pass[:0], e)
	}
}

func newTracer(src Source) (*tracer, error) {
	d, err := metasim.New(src.Config)
	if err != nil {
		return nil, err
	}
	const defaultMax = 1_000_000
	src.MaxGrants, src.MaxMessages = cmp.Or(src.MaxGrants, defaultMax), cmp.Or(src.MaxMessages, defaultMax)
	names := d.Names()
	t := &tracer{
		d: d, src: src, clients: make([]client, len(names)), pass: 1,
		links: map[LinkID]*LinkTotals{}, segments: map[LinkID]*Segment{}, pruneAt: minNodes, pubs: map[publication]metasim.Time{}, channels: map[string]uint32{}, inFlight: map[MessageID]int32{},
		tl: &Timeline{Names: names, Cores: src.Cores, Rounds: src.Rounds, Transport: src.Transport, BuiltIn: src.BuiltIn, Rate: src.Rate, Scopes: src.Scopes, Nested: len(src.Config.Outside) > 0, Log: newLog(src, names), Starts: make([]Start, len(names)), Totals: Totals{Clients: make([]ClientTotals, len(names))}},
	}
	t.profile = newProfile(len(names), src.Cores, func() metasim.Time { return d.Now().Time })
	t.blame = newBlame(t)
	for i := range t.clients {
		t.clients[i].node, t.clients[i].grant = noNode, -1
	}
	return t, nil
}

// take handles the entries of one pass of the server.
func (t *tracer) take(pass []journal.Entry) error {
	for i := range pass {
		if t.foreign(&pass[i]) {
			return journal.ErrForeign
		}
		t.lap(pass[i].Event)
	}
	for i := range pass {
		if t.diverged != nil {
			return t.diverged
		}
		t.entry(&pass[i])
	}
	return nil
}

// foreign reports whether an entry has a client that the run does not have.
func (t *tracer) foreign(e *journal.Entry) bool {
	most, _ := metasim.ClientOf(e.Event)
	if credit, is := e.Event.(*metasim.Credit); is {
		most = credit.Client
	}
	for _, effect := range e.Effects {
		switch effect := effect.(type) {
		case *metasim.Queue:
			most = max(most, effect.To, effect.Message.From)
		case *metasim.Lose:
			most = max(most, effect.To, effect.Message.From)
		case *metasim.Deliver:
			most = max(most, effect.To, effect.Message.From)
		case *metasim.Authorize:
			most = max(most, effect.To)
		}
	}
	return int(most) >= len(t.clients)
}

// entry handles one entry of the journal.
func (t *tracer) entry(e *journal.Entry) {
	t.entries++
	if t.began && e.Wall != t.wall {
		t.endPass()
		t.profile.pass(e.Wall)
	}
	t.wall = e.Wall
	var effects []metasim.Effect
	if e.Event == nil {
		effects = t.d.Settle()
	} else {
		if id, ok := metasim.ClientOf(e.Event); ok && t.clients[id].spoke != t.pass {
			t.clients[id].spoke = t.pass
			t.spoke = append(t.spoke, id)
		}
		t.event(e.Event)
		effects = t.d.Step(e.Event)
	}
	if !same(effects, e.Effects) {
		t.diverged = &DivergedError{Entry: t.entries}
	}
	for _, effect := range e.Effects {
		t.effect(effect)
	}
	if e.Event == nil {
		t.endPass()
	}
}

// same compares two lists of effects, as far as a Timeline depends on them.
func same(a, b []metasim.Effect) bool {
	return slices.EqualFunc(a, b, func(a, b metasim.Effect) bool {
		switch a := a.(type) {
		case *metasim.Authorize:
			b, ok := b.(*metasim.Authorize)
			return ok && a.To == b.To && a.Until == b.Until
		case *metasim.Deliver:
			b, ok := b.(*metasim.Deliver)
			return ok && a.To == b.To && a.Number == b.Number
		}
		return reflect.TypeOf(a) == reflect.TypeOf(b)
	})
}

// endPass updates the blame after a pass of the server.
func (t *tracer) endPass() {
	if t.blame.initializing == 0 {
		t.blame.refresh(t.spoke, t.asked)
		t.asked = t.asked[:0]
	}
	t.spoke = t.spoke[:0]
	t.pass++
	if len(t.nodes) >= t.pruneAt {
		t.prune()
	}
}

// close completes the timeline.
func (t *tracer) close() (*Timeline, error) {
	if t.diverged != nil {
		return nil, t.diverged
	}
	t.endPass()
	if !t.began {
		t.tl.Begin = t.wall
	}
	t.tl.End = t.wall
	for i := range t.clients {
		id := metasim.ClientID(i)
		c := &t.clients[i]
		if c.gone || !t.began {
			continue
		}
		t.work(id, c.now)
		if c.waiting {
			t.endWait(id, NoClient, c.granted)
		}
		t.rest(id)
	}
	t.tl.Profile, t.tl.Running = t.profile.end(t.wall)
	t.sumUp()
	return t.tl, nil
}
