package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"metasim/delay"
	"metasim/metasim"
	"metasim/record"
	"metasim/record/journal"
	"metasim/record/past"
	"metasim/scenarios"
	"metasim/server"
)

// Resume goes on with a run that was cut off: metasim was killed, or its host went down, or the run was stopped by a signal or by the end of its hosts. What the journal has of it is done again by the
// dispatcher alone. The clients that had not left are started again and repeat what they did, as with on_exit: restart. So the run ends
// as if it had not been cut off. The scenario and the transport are those of the run. The error says why it cannot go on; how it failed
// then is in the outcome.
func Resume(ctx context.Context, recorded *record.Run, o Options) (*Outcome, error) {
	sc, err := resumable(recorded)
	if err != nil {
		return nil, err
	}
	m := recorded.Manifest
	o.Transport, o.Inside, o.Serve, o.Out, o.AllowOutside, o.Pack = m.Transport, m.Inside, m.Serve, recorded.Dir.Path(), m.AllowOutside, 0
	o.Launch, o.Hosts, o.Nodes, o.LaunchOptions, o.Remote = m.Launch, m.Hosts, m.Nodes, m.LaunchOptions, m.Remote
	sc.Placement = placementOf(m)
	doors, err := o.reopen(recorded.Dir)
	if err != nil {
		return nil, err
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	table, err := delay.NewTable(sc.Seed, sc.Rules)
	if err != nil {
		return nil, err
	}
	writer, err := recorded.Dir.Reopen()
	if err != nil {
		return nil, err
	}
	manifest, err := unended(recorded.Dir)
	if err != nil {
		return nil, errors.Join(err, writer.Close())
	}
	manifest.Resumed++
	reader, err := recorded.Dir.OpenJournal(slices.Clone(m.Clients))
	if err != nil {
		return nil, errors.Join(err, writer.Close())
	}
	reader.SkipEffects()
	r := &runner{scenario: sc, options: &o, doors: doors, dir: recorded.Dir, record: &recorder{dir: recorded.Dir, log: o.Log, manifest: *manifest, writer: writer,
		checkpoints: past.NewCheckpoints(past.In(recorded.Dir), m.Started.UnixNano())}}
	r.rest = &rest{left: map[metasim.ClientID]bool{}, reader: reader, writer: writer, dir: recorded.Dir, stop: func() error { return context.Cause(ctx) }, forget: func(size int64) error {
		return r.record.checkpoints.Forget(len(m.Clients), size)
	}}
	err = r.open(ctx, table)
	err = errors.Join(err, reader.Close())
	r.record.scan = past.NewScan(recorded.Dir, r.rest.remaining(len(m.Clients)))
	if err == nil {
		err = recorded.Dir.WriteManifest(manifest)
	}
	if err != nil {
		return nil, errors.Join(err, writer.Close())
	}
	return o.onThisHost(sc)(r.carryOut(ctx))
}

// placementOf returns where the clients of a recorded run were. Those of a host that is not there any more are on any.
func placementOf(m *journal.Manifest) map[string]int {
	where := map[string]int{}
	for host, placed := range m.Placed {
		for _, name := range placed.Clients {
			where[name] = host
		}
	}
	return where
}

// GoesOn reports whether Resume failed because another process still writes the run.
func GoesOn(err error) bool { return errors.Is(err, journal.ErrGoesOn) }

// Resumable says why a run that does not go on cannot be resumed; nil: its manifest allows it.
func Resumable(recorded *record.Run) error {
	_, err := resumable(recorded)
	return err
}

// resumable returns the scenario of a run that was cut off, if it can go on.
func resumable(r *record.Run) (*scenarios.Scenario, error) {
	m := r.Manifest
	switch {
	case m.NoJournal:
		return nil, journal.ErrNoJournal
	case !m.OK && len(m.Groups)+len(m.Outside) > 0:
		return nil, fmt.Errorf("the run in %s had several dispatchers, and each is behind the others somewhere: it cannot go on; carry it out again, without --nested if its server may die", r.Dir.Path())
	case !r.CanGoOn():
		return nil, errEnded(r.Dir)
	}
	sc, err := r.Scenario()
	if err != nil {
		return nil, err
	}
	if live := sc.RealTime(); len(live) > 0 {
		return nil, fmt.Errorf("client %q of the run in %s took part in real time, and that time has passed; carry it out again", live[0], r.Dir.Path())
	}
	// The manifest has what the resolved scenario leaves out.
	sc.Memory, sc.Cascade = m.Memory, m.Cascade
	for i := range sc.Clients {
		c := &sc.Clients[i]
		c.Ahead = m.AheadOf[c.Name]
		if c.Env, err = unmasked(c, "metasim resume"); err != nil {
			return nil, err
		}
	}
	return sc, nil
}

func errEnded(dir journal.Dir) error {
	return fmt.Errorf("the run in %s has ended; only one that was cut off can go on", dir.Path())
}

// unended returns the manifest of a run whose journal this process has locked, as it is while the run goes on. It fails if another process had the lock
// before, and has ended the run.
func unended(dir journal.Dir) (*journal.Manifest, error) {
	m, err := dir.Manifest()
	if err == nil && m.Digest != "" && !m.Stopped {
		return m, errEnded(dir)
	}
	if err == nil {
		m.Stopped, m.Digests, m.Traffic, m.Lost, m.Error = false, journal.Digests{}, nil, "", notEnded
	}
	return m, err
}

// Next implements server.Resume. What is damaged is left out, with all that follows.
func (r *rest) Next() (wall int64, ev metasim.Event, recorded []byte, err error) {
	if err := r.stop(); err != nil {
		return 0, nil, nil, err
	}
	e, err := r.reader.Next()
	if leave, ok := e.Event.(*metasim.Leave); ok {
		r.left[leave.Client] = true
	}
	if record.IsBeginning(err) {
		err = io.EOF
	}
	return e.Wall, e.Event, r.reader.Recorded(), err
}

// remaining returns the clients that had not left.
func (r *rest) remaining(clients int) (ids []metasim.ClientID) {
	for id := range metasim.ClientID(clients) {
		if !r.left[id] {
			ids = append(ids, id)
		}
	}
	return ids
}

// Continue implements server.Resume.
func (r *rest) Continue(missing []metasim.Effect) error {
	size := r.reader.Offset()
	if err := r.forget(size); err != nil {
		return err
	}
	return r.writer.Continue(size, missing)
}

// Observe implements server.Observer: it is shown what the journal does not have. Only what a client says is news: a Settle follows from what was before, and a Permit from the clock.
func (r *rest) Observe(_ int64, ev metasim.Event, _ []metasim.Effect) error {
	switch ev.(type) {
	case nil, *metasim.Permit:
	default:
		r.goneOn = true
	}
	return nil
}

var (
	_ server.Resume   = (*rest)(nil)
	_ server.Observer = (*rest)(nil)
)
