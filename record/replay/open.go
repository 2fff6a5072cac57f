package replay

import (
	"errors"
	"fmt"

	"metasim/metasim"
	"metasim/record/journal"
	"metasim/scenarios"
)

// A Run is one that was recorded.
type Run struct {
	Dir      journal.Dir
	Manifest *journal.Manifest
	Scenario *scenarios.Scenario // as it was resolved then
}

// Open opens the directory of a run.
func Open(path string) (*Run, error) {
	dir, err := journal.Open(path)
	if err != nil {
		return nil, err
	}
	manifest, err := dir.Manifest()
	if err != nil {
		return nil, err
	}
	if manifest.NoJournal {
		return nil, journal.ErrNoJournal
	}
	if len(manifest.Resolved) == 0 {
		return nil, fmt.Errorf("replay: the manifest of %s does not hold its scenario; name a run that metasim run has recorded", path)
	}
	sc, err := scenarios.Restore(manifest.Resolved, manifest.Dir)
	if err != nil {
		return nil, fmt.Errorf("replay: the scenario in the manifest of %s: %w", path, err)
	}
	return &Run{Dir: dir, Manifest: manifest, Scenario: sc}, nil
}

// killed reports whether the run was ended without a word, so that nobody knows what became of it.
func (r *Run) killed() bool { return r.Manifest.Digest == "" }

var errForeign = errors.New("replay: the journal has a client that the manifest does not name; they are not of one run")

// ours refuses an entry that cannot be of this run.
func (r *Run) ours(e *journal.Entry) error {
	n := metasim.ClientID(len(r.Manifest.Clients))
	if id, ok := journal.Speaker(e.Event); ok && id >= n {
		return errForeign
	}
	return nil
}
