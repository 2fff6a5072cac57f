package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"metasim/lcm/bus"
	"metasim/lcm/mirror"
	lcmnames "metasim/lcm/names"
	"metasim/metasim"
	"metasim/record/journal"
	"metasim/record/past"
	"metasim/scenarios"
	"metasim/server"
	"metasim/wire/session"
)

// Two observers may watch a run: the record writes it to disk, the mirror shows it on a public LCM network.

// version is the version of metasim.
const version = "0.1.0"

// The journal is written beside the run: the server waits for it without holding anybody up.
var _ server.Deferred = (*journal.Writer)(nil)

// notEnded is the error of a run in its manifest until it has ended.
const notEnded = "the run has not ended"

// A recorder writes what a run leaves on disk.
type recorder struct {
	dir      journal.Dir
	manifest journal.Manifest
	writer   *journal.Writer // nil: the run has no journal
	log      *slog.Logger

	checkpoints *past.Checkpoints // nil without a journal
	scan        *past.Scan        // likewise
	keeping     sync.Map          // of clients, by id, whose checkpoint is being written
	writing     sync.WaitGroup
}

// newRecorder begins the record: from now on the directory says that a run has begun and not ended.
func newRecorder(dir journal.Dir, sc *scenarios.Scenario, o *Options, names []string, p *part) (*recorder, error) {
	resolved, err := sc.Resolved(o.KeepEnv)
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname() // the empty name says that it is not known
	r := &recorder{dir: dir, log: o.Log, manifest: journal.Manifest{
		Scenario: sc.Name, Resolved: resolved, Seed: sc.Seed, Until: sc.Until, MaxSteps: sc.MaxSteps, Clients: names,
		Ahead: metasim.DefaultAhead, AheadOf: sc.AheadOf(), Memory: sc.Memory, Cascade: sc.Cascade, Dir: sc.Dir, AllowOutside: o.AllowOutside, Inside: o.Inside, Hosts: o.Hosts, NoJournal: o.NoJournal,
		Transport: o.Transport, Serve: o.Serve, Go: runtime.Version(), Metasim: BuildVersion(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		CPUs: cpus(), GoMaxProcs: runtime.GOMAXPROCS(0), Started: time.Now(), Host: host, Command: o.Command, Deterministic: len(sc.RealTime()) == 0, Error: notEnded,
	}}
	if p != nil {
		r.manifest.Groups, r.manifest.Outside = p.groups, p.outside
	}
	if o.far() {
		r.manifest.Launch, r.manifest.Nodes, r.manifest.LaunchOptions, r.manifest.Remote = o.Launch, o.Nodes, o.LaunchOptions, o.Remote
	}
	if err := dir.WriteManifest(&r.manifest); err != nil || o.NoJournal {
		return r, err
	}
	r.checkpoints, r.scan = past.NewCheckpoints(past.In(dir), r.manifest.Started.UnixNano()), past.NewScan(dir, nil)
	r.writer, err = dir.NewJournal(names)
	return r, err
}

// sortedNames returns the names of the clients in the order of their ids: the id of a client is the rank of its name.
func sortedNames(sc *scenarios.Scenario) []string {
	var names []string
	for i := range sc.Clients {
		names = append(names, sc.Clients[i].Name)
	}
	slices.Sort(names)
	return names
}

// cpus returns how many processors of this host a run can use: those that this process may run on, or fewer if a container
// has a quota. The Go runtime lowers GOMAXPROCS to the quota, unless the environment sets GOMAXPROCS.
func cpus() int {
	if os.Getenv("GOMAXPROCS") != "" {
		return runtime.NumCPU()
	}
	return min(runtime.NumCPU(), runtime.GOMAXPROCS(0))
}

// past returns what the journal holds of a client by now.
func (r *recorder) past(id metasim.ClientID, saves bool) server.Past {
	size, written := r.writer.Mark()
	p := past.NewReader(id, func() (past.Source, error) {
		if err := written(); err != nil {
			return nil, err
		}
		return r.scan.Open(id, size)
	})
	if saves {
		unfit := func(err error) {
			r.log.Warn("a checkpoint is not used", "client", r.manifest.Clients[id], "cause", err)
		}
		p.From(func() []*past.Kept { return r.checkpoints.Last(id, size, unfit) }, unfit)
	}
	return p
}

// keep keeps a checkpoint of a client, once all that led to it is written. While one is being written the next ones are left out.
func (r *recorder) keep(id metasim.ClientID, saved *session.Saved) bool {
	if _, busy := r.keeping.LoadOrStore(id, struct{}{}); busy {
		return false
	}
	size, written := r.writer.Mark()
	r.writing.Go(func() {
		defer r.keeping.Delete(id)
		err := written()
		if err == nil {
			err = r.checkpoints.Keep(id, size, saved)
		}
		if err != nil {
			r.log.Warn("a checkpoint is not kept", "client", r.manifest.Clients[id], "cause", err)
		}
	})
	return true
}

// complete sets what the manifest says of the end.
func (r *recorder) complete(out *Outcome) {
	m := &r.manifest
	m.Deterministic, m.OK, m.Error, m.Digests, m.Stopped = out.Deterministic, out.OK, out.Error, out.Digests, out.Resumable
	m.Traffic = &journal.Traffic{
		FramesIn: out.FramesIn, FramesOut: out.FramesOut, BytesIn: out.BytesIn, BytesOut: out.BytesOut, Wakeups: out.Wakeups, RoundsS: out.RoundsS,
	}
	if out.placed != nil { // else no client was placed: a run that goes on has from before where they were
		m.Placed = out.placed
	}
	for i := range out.Clients {
		if out.Clients[i].Exit == exitLost {
			m.Lost = out.Clients[i].Name
		}
	}
}

// finish ends the record. It waits for the disk. The journal stays locked until the manifest says that the run has ended, as another process that
// takes the lock before would go on with the run.
func (r *recorder) finish() error {
	if r.writer != nil {
		_, written := r.writer.Mark()
		_ = written() // Close returns the same
	}
	r.writing.Wait()
	err := r.dir.WriteManifest(&r.manifest)
	if err = errors.Join(r.closeJournal(), err); err == nil && r.checkpoints != nil && !r.manifest.Stopped {
		err = past.In(r.dir).RemoveAll() // a run that has ended does not go on
	}
	return err
}

func (r *recorder) closeJournal() error {
	if r.writer == nil {
		return nil
	}
	return r.writer.Close()
}

// abandon leaves no record of a run that did not begin.
func (r *recorder) abandon() error { return errors.Join(r.closeJournal(), r.dir.Remove()) }

// BuildVersion returns the version, with the revision that it was built from if that is known.
func BuildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return fmt.Sprintf("%s+%s", version, s.Value[:12])
		}
	}
	return version
}

// openMirror begins to show the run on the public LCM network of the scenario; nil if there is none. If the network cannot be opened, the
// run goes on: the mirror logs the cause and counts what it could not show. The run fails if an event log cannot be written, or if the
// scenario waits for subscribers and too few come.
func openMirror(ctx context.Context, sc *scenarios.Scenario, o *Options) (*mirror.Mirror, error) {
	if sc.PublicLCM == "" || o.Private {
		return nil, nil
	}
	busOptions := bus.Options{Serve: true, Log: o.Log}
	network, err := bus.Open(sc.PublicLCM, busOptions)
	if err != nil && isFile(sc) {
		return nil, fmt.Errorf("the run cannot be shown on %w; choose a place for the log that can be written", err)
	}
	if err != nil {
		network = bus.Missing(sc.PublicLCM, err, busOptions)
	}
	if err := awaitSubscribers(ctx, sc, network, err); err != nil {
		return nil, errors.Join(err, network.Close())
	}
	return mirror.New(mirror.Config{
		Bus: network, Clients: sortedNames(sc), Naming: lcmnames.Naming{Suffix: sc.LCMSuffix, Plain: sc.LCMPlain}, Log: o.Log,
	}), nil
}

// isFile reports whether a run is shown on an event log.
func isFile(sc *scenarios.Scenario) bool { return strings.HasPrefix(sc.PublicLCM, "file:") }

// settle is how long a run waits for a program of a lossy network to subscribe after it has opened its socket. Nothing better than
// waiting exists: the system shows the socket, and no network of this kind carries a message that says who has subscribed.
const settle = 300 * time.Millisecond

// awaitSubscribers waits until as many programs listen as the scenario asks for. missing says why there is no network.
func awaitSubscribers(ctx context.Context, sc *scenarios.Scenario, network bus.Bus, missing error) error {
	want := sc.LCMSubscribers
	if want == 0 {
		return nil
	}
	began := time.Now()
	patience, cancel := context.WithTimeout(ctx, sc.StartTimeout)
	defer cancel()
	for look := time.NewTicker(10 * time.Millisecond); ; {
		n, known := network.Subscribers()
		switch {
		case missing != nil:
			return fmt.Errorf("nobody can listen to the run: %w", missing)
		case !known:
			return fmt.Errorf("who listens to %s is not known here; leave lcm_subscribers out, or use tcpq://", sc.PublicLCM)
		case n >= want:
			look.Stop()
			if network.Lossy() {
				select {
				case <-time.After(settle):
				case <-ctx.Done(): // the caller looks at ctx itself
				}
			}
			return nil
		}
		select {
		case <-look.C:
		case <-patience.Done():
			look.Stop()
			return fmt.Errorf("%d of %d programs listen to %s after %v (%w); start the others, or lower lcm_subscribers",
				n, want, sc.PublicLCM, min(time.Since(began).Round(time.Millisecond), sc.StartTimeout), context.Cause(patience))
		}
	}
}

// closeMirror shows what is still queued, and returns how much was shown; nil if there is no mirror. Its error is that of an event
// log that could not be written.
func closeMirror(m *mirror.Mirror, sc *scenarios.Scenario, o *Options) (*LCMOutcome, error) {
	if m == nil {
		return nil, nil
	}
	st, err := m.Close()
	if err != nil && isFile(sc) {
		err = fmt.Errorf("the event log of the run is not whole: %w", err)
	} else if err != nil {
		o.Log.Warn("the public LCM bus did not close well", "bus", sc.PublicLCM, "why", err)
		err = nil
	}
	remedy := ""
	if st.Bus.Overflow > 0 {
		remedy = bus.OverflowRemedy
	}
	return &LCMOutcome{
		URL: sc.PublicLCM, Shown: st.Shown, Dropped: st.Dropped, Refused: st.Refused,
		Sent: st.Bus.Sent, Unheard: st.Bus.Unheard, Failed: st.Bus.Failed, Unread: st.Bus.Dropped, Skipped: st.Bus.Skipped,
		Overflow: st.Bus.Overflow, Remedy: remedy,
	}, err
}
