// Package record opens a recorded run as one thing: the directory that metasim run has left, with what the run was (its
// manifest and its scenario), what happened (its journal) and what two runs are compared by (its index).
//
//	r, err := record.Open("runs/ping-pong-1")
//	reader, err := r.OpenJournal()
//	entry, err := reader.Next()
//
// Everything that looks at a run after its end opens it here: a replay, a report, a comparison, an export, a list of its
// messages. A run that still goes on can be opened too; its manifest says then that it has not ended.
//
// # Duties of the caller
//
//  1. Close the reader of a journal.
//  2. A journal that breaks off (*[journal.TornError]) is good up to there: use what was read, and say where it ends.
//  3. Ask [Run.Killed] before a digest is compared: a run that was killed has none.
//  4. A journal that is whole and not that of its run fails at its end with a *[DigestError]: believe nothing of it.
package record

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"metasim/delay"
	"metasim/internal/atomicfile"
	"metasim/internal/suggest"
	"metasim/metasim"
	"metasim/record/journal"
	"metasim/scenarios"
)

// A Run is a recorded run.
type Run struct {
	Dir      journal.Dir
	Manifest *journal.Manifest

	scenario func() (*scenarios.Scenario, error) // restored once
}

// Open opens the run in a directory. It reads the manifest; the journal may be missing.
func Open(path string) (*Run, error) {
	dir, err := journal.Open(path)
	if err != nil {
		return nil, err
	}
	manifest, err := dir.Manifest()
	if err != nil {
		return nil, err
	}
	return open(dir, manifest), nil
}

func open(dir journal.Dir, manifest *journal.Manifest) *Run {
	r := &Run{Dir: dir, Manifest: manifest}
	r.scenario = sync.OnceValues(r.restore)
	return r
}

// OpenToReplay opens a run that is to be done again. Besides the errors of Open it fails with [journal.ErrNoJournal] where the run
// was carried out without a journal, and where the manifest does not hold the scenario.
func OpenToReplay(path string) (*Run, error) {
	r, err := Open(path)
	if err != nil {
		return nil, err
	}
	if r.Manifest.NoJournal {
		return nil, journal.ErrNoJournal
	}
	if _, err := r.Scenario(); err != nil {
		return nil, err
	}
	reader, err := r.OpenJournal()
	if err != nil {
		return nil, err
	}
	return r, reader.Close()
}

// Killed reports whether the run was ended by force, so that nothing is known of its end: its digest is empty.
func (r *Run) Killed() bool { return r.Manifest.Digest == "" }

// CanGoOn reports whether the run can go on from its record: it was ended by force, or stopped.
func (r *Run) CanGoOn() bool { return r.Killed() || r.Manifest.Stopped }

// checkDigest compares what was read of a whole journal with the digests of the run: a *[DigestError] where one differs. A run that was
// killed has none.
func (r *Run) checkDigest(read *metasim.Ledger) error {
	if r.Killed() {
		return nil
	}
	now := journal.Digests{Digest: read.Digest().String(), SendsDigest: read.SendsDigest().String()}
	if differ := r.Manifest.Differ(now); len(differ) > 0 {
		return &DigestError{Dir: r.Dir.Path(), Of: differ[0]}
	}
	return nil
}

// A DigestError tells that a journal is whole and is not that of its run: it was changed, or it is that of another run.
type DigestError struct{ Dir, Of string } // of the deliveries or the sends

func (e *DigestError) Error() string {
	return fmt.Sprintf("the journal of %s does not hold what the run has done: the digest of its %s is not that of the manifest; "+
		"carry the run out again", e.Dir, e.Of)
}

// End is when the run had to end: Infinity where its scenario did not say.
func (r *Run) End() metasim.Instant {
	if until := r.Manifest.Until; until > 0 {
		return metasim.At(until)
	}
	return metasim.Infinity
}

// Client returns the number of a client. It fails with an *[UnknownClientError].
func (r *Run) Client(name string) (metasim.ClientID, error) {
	i := slices.Index(r.Manifest.Clients, name)
	if i < 0 {
		return 0, &UnknownClientError{Client: name, Known: r.Manifest.Clients}
	}
	return metasim.ClientID(i), nil
}

// An UnknownClientError tells that a run has no client of this name.
type UnknownClientError struct {
	Client string
	Known  []string // the clients of the run
}

func (e *UnknownClientError) Error() string {
	return fmt.Sprintf("the run has no client %q; %s", e.Client, suggest.Word(e.Client, e.Known))
}

// NestedDir is what the directory of a run that was nested in another one is called in that of the other one, before its name.
const NestedDir = "nested-"

// Elsewhere fails with an *[ElsewhereError] if the client belongs to another run: one that is nested in this one, or the one around it. A nested run itself counts, too.
// The record here has only what it sent to the clients of this run.
func (r *Run) Elsewhere(client string) error {
	for _, group := range r.Manifest.Groups { // the nested run, and its clients
		if slices.Contains(group, client) {
			return &ElsewhereError{Client: client, Dir: r.Dir.File(NestedDir + group[0]), Run: client == group[0]}
		}
	}
	if slices.Contains(r.Manifest.Outside, client) {
		return &ElsewhereError{Client: client, Dir: r.Dir.File(".."), Outside: true}
	}
	return nil
}

// An ElsewhereError tells that a client took part in another run, which is nested in this one or around it.
type ElsewhereError struct {
	Client  string
	Dir     string // where the record of that run is, unless it is on another host
	Outside bool   // the other run is around this one
	Run     bool   // the client is that run
}

func (e *ElsewhereError) Error() string {
	switch {
	case e.Run:
		return fmt.Sprintf("%q is a run that was nested in this one; its record is in %s", e.Client, e.Dir)
	case e.Outside:
		return fmt.Sprintf("client %q took part outside of this run, which was nested; the record of the run around it is in %s", e.Client, e.Dir)
	}
	return fmt.Sprintf("client %q took part in a run that was nested in this one, whose record is in %s", e.Client, e.Dir)
}

// A Journal reads the journal of a run, and sees at its end that it is the whole of that run.
type Journal struct {
	*journal.Reader
	Ledger *metasim.Ledger // of all that was read with Next

	run *Run
}

// OpenJournal opens the journal. It fails with [journal.ErrForeign] at an entry with a client that the manifest does not name.
func (r *Run) OpenJournal() (*Journal, error) {
	names := append([]string{}, r.Manifest.Clients...) // not nil, with which the reader would take any client
	reader, err := r.Dir.OpenJournal(names)
	if err != nil {
		return nil, err
	}
	return &Journal{Reader: reader, Ledger: metasim.NewLedger(names), run: r}, nil
}

// Next returns the next entry. Besides the errors of a [journal.Reader] it fails at the end as CheckEnd does, and where the journal is not
// that of the run with a *[DigestError].
func (j *Journal) Next() (journal.Entry, error) {
	e, err := j.Reader.Next()
	switch {
	case err == nil:
		j.Ledger.Observe(e.Event, e.Effects)
	case errors.Is(err, io.EOF):
		if end := cmp.Or(j.CheckEnd(), j.run.checkDigest(j.Ledger)); end != nil {
			err = end
		}
	case !IsBeginning(err):
		err = fmt.Errorf("%s: %w", j.run.Dir.Path(), err)
	}
	return e, err
}

// IsBeginning reports whether an error tells that a journal has the beginning of its run, which was read: a *[journal.TornError].
func IsBeginning(err error) bool { return errors.As(err, new(*journal.TornError)) }

// IsMissing reports whether an error tells that a run, or its journal, is not there.
func IsMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, journal.ErrNoJournal) || errors.Is(err, journal.ErrNotJournal) ||
		errors.As(err, new(*journal.VersionError))
}

// CheckEnd returns a *[journal.TornError] if nothing says that the run ended where its journal ends.
func (j *Journal) CheckEnd() error {
	if j.run.Killed() {
		return j.Unfinished(true)
	}
	return j.run.ended(j.Unfinished(false))
}

// ended returns the error of a journal, if it is one: that of a run that failed, or was interrupted, may end anywhere.
func (r *Run) ended(torn error) error {
	var t *journal.TornError
	if errors.As(torn, &t) && t.Reason == "" && !r.Manifest.OK {
		return nil
	}
	return torn
}

// Index returns the index of the journal, made anew if need be, and the *[journal.TornError] at which the journal breaks off, if
// that is known.
func (r *Run) Index() (index *journal.Index, torn, err error) {
	index, torn, err = r.Dir.Index(r.Manifest.Clients)
	return index, r.ended(torn), err
}

// MakeIndex does so by reading the journal, whatever index there is.
func (r *Run) MakeIndex() (index *journal.Index, torn, err error) {
	index, torn, err = r.Dir.MakeIndex(r.Manifest.Clients)
	return index, r.ended(torn), err
}

// Scenario returns the scenario as it was resolved when the run began.
func (r *Run) Scenario() (*scenarios.Scenario, error) { return r.scenario() }

func (r *Run) restore() (*scenarios.Scenario, error) {
	m := r.Manifest
	if len(m.Resolved) == 0 {
		return nil, fmt.Errorf("the manifest of %s does not hold its scenario; name a run that metasim run has recorded", r.Dir.Path())
	}
	sc, err := scenarios.Restore(m.Resolved, m.Dir)
	if err != nil {
		return nil, fmt.Errorf("the scenario in the manifest of %s: %w", r.Dir.Path(), err)
	}
	return sc, nil
}

// Config returns what the run's dispatcher was made with. Its delays start anew, so that each dispatcher needs a Config of its own.
func (r *Run) Config() (metasim.Config, error) {
	sc, err := r.Scenario()
	if err != nil {
		return metasim.Config{}, err
	}
	m := r.Manifest
	table, err := delay.NewTable(m.Seed, sc.Rules)
	if err != nil {
		return metasim.Config{}, err
	}
	return metasim.Config{
		Clients: m.Clients, Delays: table, Until: m.Until, MaxSteps: m.MaxSteps, Ahead: m.Ahead, AheadOf: m.AheadOf, Memory: m.Memory,
		Cascade: m.Cascade, Groups: m.Groups, Outside: m.Outside,
	}, nil
}

// Models names the clients that metasim has built in.
func (r *Run) Models() ([]string, error) {
	sc, err := r.Scenario()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, c := range sc.Clients {
		if c.Model != "" {
			names = append(names, c.Name)
		}
	}
	return names, nil
}

// InProcess names the clients that lived in the server's process.
func (r *Run) InProcess() ([]string, error) {
	if r.Manifest.Transport != "mem" {
		return nil, nil
	}
	return r.Models()
}

// Cores returns how many cores the clients could use: where all of them lived in the server's process, as many as that process
// used. 0 if that is not known.
func (r *Run) Cores() (int, error) {
	m := r.Manifest
	names, err := r.InProcess()
	if err != nil || len(names) < len(m.Clients) {
		return m.CPUs, err
	}
	return min(m.CPUs, m.GoMaxProcs), nil
}

// CreateFile begins a file that is made from the run in a directory. The file must not lie in that directory, which holds only what the
// run has left.
func CreateFile(path, runDir string) (*atomicfile.File, error) {
	parent, err := os.Stat(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	dir, err := os.Stat(runDir)
	if err != nil {
		return nil, err
	}
	if os.SameFile(parent, dir) {
		return nil, fmt.Errorf("%s would lie in the directory of the run, which holds what the run has left; name another place", path)
	}
	return atomicfile.Create(path, 0o644)
}
