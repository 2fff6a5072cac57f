package run

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"metasim/metasim"
	"metasim/record/journal"
	"metasim/scenarios"
	"metasim/server"
)

// Version is the version of metasim.
const Version = "0.1.0"

// A record is what a run leaves on disk. It observes the server.
type record struct {
	dir      journal.Dir
	manifest journal.Manifest
	writer   *journal.Writer // nil: the run is to have no journal
	flushed  int64           // wall, as Observe was told
}

// flushEvery is how much of a run's end may be missing from its journal if this process is killed.
const flushEvery = int64(250 * time.Millisecond)

// newRecord begins the record: from now on the directory says that a run has begun and not ended.
func newRecord(dir journal.Dir, sc *scenarios.Scenario, o Options) (*record, error) {
	resolved, err := sc.Resolved()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, c := range sc.Clients {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	r := &record{dir: dir, manifest: journal.Manifest{
		Scenario: sc.Name, Resolved: resolved, Seed: sc.Seed, Until: sc.Until, MaxSteps: sc.MaxSteps, Clients: names,
		Ahead: metasim.DefaultAhead, Dir: sc.Dir, AllowOutside: o.AllowOutside, NoJournal: o.NoJournal,
		Transport: o.Transport, Go: runtime.Version(), Metasim: BuildVersion(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		CPUs: cpus(), GoMaxProcs: runtime.GOMAXPROCS(0), Started: time.Now(), Deterministic: len(sc.Live()) == 0, Error: "the run has not ended",
	}}
	if err := dir.WriteManifest(&r.manifest); err != nil || o.NoJournal {
		return r, err
	}
	r.writer, err = dir.NewJournal(names)
	return r, err
}

// cpus is how many processors of this host a run can use: those that this process may run on, or fewer where a container has a
// quota, which is known from what the Go runtime makes of it unless it was told otherwise.
func cpus() int {
	if os.Getenv("GOMAXPROCS") != "" {
		return runtime.NumCPU()
	}
	return min(runtime.NumCPU(), runtime.GOMAXPROCS(0))
}

// observers are the record, where it observes anything.
func (r *record) observers() []server.Observer {
	if r.writer == nil {
		return nil
	}
	return []server.Observer{r}
}

// Observe implements server.Observer.
func (r *record) Observe(wall int64, ev metasim.Event, effects []metasim.Effect) error {
	if err := r.writer.Observe(wall, ev, effects); err != nil || wall-r.flushed < flushEvery {
		return err
	}
	r.flushed = wall
	return r.writer.Flush()
}

// finish ends the record with the run's outcome.
func (r *record) finish(out *Outcome) error {
	m := &r.manifest
	m.Deterministic, m.OK, m.Error, m.Digest = out.Deterministic, out.OK, out.Error, out.Digest
	m.Traffic = &journal.Traffic{
		FramesIn: out.FramesIn, FramesOut: out.FramesOut, BytesIn: out.BytesIn, BytesOut: out.BytesOut, Wakeups: out.Wakeups,
	}
	for _, c := range out.Clients {
		if c.Exit == lost {
			m.Lost = c.Name
		}
	}
	return errors.Join(r.closeJournal(), r.dir.WriteManifest(m))
}

func (r *record) closeJournal() error {
	if r.writer == nil {
		return nil
	}
	return r.writer.Close()
}

// abandon ends the record of a run that did not begin, and says why.
func (r *record) abandon(why error) error {
	r.manifest.Error = "the run did not begin: " + Sentence(why)
	return errors.Join(r.closeJournal(), r.dir.WriteManifest(&r.manifest))
}

// BuildVersion is the version, with the revision it was built from where that is known.
func BuildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return fmt.Sprintf("%s+%s", Version, s.Value[:12])
		}
	}
	return Version
}
