package sweep

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const resultsFile = "results.jsonl"

// openResults opens results.jsonl, to be read, or written too.
func openResults(dir string, runs int, write bool) (*results, error) {
	mode := os.O_RDONLY
	if write {
		mode = os.O_RDWR | os.O_CREATE
	}
	f, err := os.OpenFile(filepath.Join(dir, resultsFile), mode, 0o600)
	if err != nil {
		return nil, err
	}
	r := &results{File: f, places: make([]place, runs)}
	if err := r.read(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

// read finds the line of each run. A last line without an end was being written when the sweep was cut off: it is written over.
func (r *results) read() error {
	lines := bufio.NewReader(r.File)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var row struct {
			ID, Attempt int
			OK, Poison  bool
		}
		if err := json.Unmarshal(line, &row); err != nil || row.ID < 0 || row.ID >= len(r.places) || row.Attempt < 1 {
			return fmt.Errorf("%s: line %d is damaged; remove that line, and its run is done again", r.Name(), n)
		}
		r.found(row.ID, row.Attempt, row.OK, row.Poison, len(line))
	}
}

func (r *results) found(id, attempt int, ok, poison bool, size int) {
	r.places[id] = place{at: r.end, size: int32(size), attempt: int32(attempt), ok: ok, poison: poison}
	r.end += int64(size)
}

// put writes the line of a run.
func (r *results) put(row *Row) error {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(row); err != nil {
		return err
	}
	if _, err := r.WriteAt(b.Bytes(), r.end); err != nil {
		return err
	}
	r.found(row.ID, row.Attempt, row.OK, row.Poison, b.Len())
	return nil
}

// cut removes what a line that was not finished has left.
func (r *results) cut() error { return r.Truncate(r.end) }

// row returns what came of a run; nil if it has not ended.
func (r *results) row(id int) (*Row, error) {
	p := r.places[id]
	if p.attempt == 0 {
		return nil, nil
	}
	line := make([]byte, p.size)
	if _, err := r.ReadAt(line, p.at); err != nil {
		return nil, err
	}
	row := &Row{}
	return row, json.Unmarshal(line, row)
}

// differs writes down that a late attempt at a run came to something else than the one that counts.
func (r *results) differs(late *Row) error {
	row, err := r.row(late.ID)
	if err != nil {
		return err
	}
	row.OK = false
	row.Error = fmt.Sprintf("attempts %d and %d have different digests, %.12s and %.12s, so it is not deterministic; metasim verify says where they part", row.Attempt, late.Attempt, row.Digest, late.Digest)
	return r.put(row)
}

// worth is what attempts at a run are compared by.
func (r *Row) worth() string {
	if !r.OK {
		return "failed"
	}
	return r.Digest + r.SendsDigest + r.ResultsDigest
}

// silentWhy is how a worker ended of which nothing else is known.
const silentWhy = "it said nothing any more"

// giveUp says that several workers were lost at a run.
func (r *Row) giveUp(last string) {
	r.Poison = true
	r.Error = fmt.Sprintf("%d workers were lost while they carried it out; the last: %s; see what it does alone, with metasim run", retries, last)
}

// all calls f with what came of each run, in the order of their ids.
func (r *results) all(f func(*Row) error) error {
	for id := range r.places {
		row, err := r.row(id)
		if err == nil && row != nil {
			err = f(row)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// status says how far a sweep has come.
func (r *results) status(p *Plan, dir string) Status {
	st := Status{Scenario: p.Scenario, Dir: dir, Runs: p.Runs()}
	for id, p := range r.places {
		if p.attempt > 0 {
			st.Done++
			if !p.ok {
				st.Failed++
			}
			if p.poison {
				st.Poison = append(st.Poison, id)
			}
		}
	}
	return st
}
