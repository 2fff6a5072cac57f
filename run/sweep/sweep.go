package sweep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"

	"metasim/internal/atomicfile"
	"metasim/internal/filelock"
	"metasim/internal/problem"
	"metasim/run"
	"metasim/run/sweep/lease"
	"metasim/scenarios"
)

// A Sweep is one whose directory is open, to carry it out.
type Sweep struct {
	Plan *Plan
	Dir  string

	options Options
	text    []byte // of the scenario
	lock    *os.File
	mu      sync.Mutex // guards results
	results *results
	meeting *meeting // if the directory is shared, and not over; else nil
}

// Open plans a sweep and opens its directory: a new one, or that of the same sweep, which then goes on. It returns what Load warned of. The caller
// closes it.
func Open(o Options) (*Sweep, []problem.Problem, error) {
	if c := o.Cluster; c == nil && o.Workers < 1 {
		return nil, nil, fmt.Errorf("--jobs is %d; use 1 or more", o.Workers)
	} else if c != nil && c.Workers < 1 {
		return nil, nil, fmt.Errorf("--workers is %d; say how many workers Slurm is to start, as in --workers 8", c.Workers)
	}
	o.How.AllowOutside = o.Overrides.AllowOutside
	if err := o.How.Validate(); err != nil {
		return nil, nil, err
	}
	plan, text, warnings, err := newPlan(&o)
	if err != nil {
		return nil, warnings, err
	}
	s := &Sweep{Plan: plan, Dir: o.Dir, options: o, text: text}
	if s.Dir == "" {
		if s.Dir, err = plan.dir(); err != nil {
			return nil, warnings, err
		}
	}
	open := s.open
	if s.shares() {
		open = s.openShared
	}
	if err := open(); err != nil {
		return nil, warnings, errors.Join(err, s.Close())
	}
	return s, warnings, nil
}

// Resume opens a sweep that has a directory, to go on with it. File, Overrides and Vary of the options are not used, and it keeps its runs if it has before.
func Resume(dir string, o Options) (*Sweep, []problem.Problem, error) {
	r, err := Read(dir)
	if err != nil {
		return nil, nil, err
	}
	o.File, o.Overrides, o.Vary, o.Dir, o.axes = r.Plan.File, r.Plan.Overrides, nil, dir, r.Plan.Axes
	if _, err := os.Stat(filepath.Join(dir, keptDir)); err == nil { // it has kept the runs before
		o.Keep = true
	}
	if err := r.Close(); err != nil {
		return nil, nil, err
	}
	return Open(o)
}

// shares reports whether this process is to be one of several workers: it was asked to, or others were, and have left something to do.
func (s *Sweep) shares() bool {
	shared, asked := isShared(s.Dir), s.options.Share != nil
	if !shared && !asked {
		return false
	}
	r, err := Read(s.Dir)
	if err != nil {
		return true
	}
	over := r.Status.Done == r.Status.Runs
	_ = r.Close() // it was only looked at
	return !over || shared && asked
}

// openShared opens the directory beside others.
func (s *Sweep) openShared() error {
	switch o := &s.options; {
	case o.Cluster != nil:
		return fmt.Errorf("the runs in %s are shared by workers without a coordinator (--share); leave --launch out", s.Dir)
	case o.Retry:
		return fmt.Errorf("the runs in %s are shared (--share), and --retry is for when all of them are done, and without --share", s.Dir)
	case o.Share == nil:
		o.Share = &Share{}
	}
	m := newMeeting(s.Dir, s.Plan)
	if err := m.prepare(); err != nil {
		return err
	}
	s.meeting = m
	var err error
	s.results, _, err = gather(m.dir, s.Plan, m.own)
	return err
}

// Shared reports whether other processes may carry out runs, too.
func (s *Sweep) Shared() bool { return s.meeting != nil }

func (s *Sweep) open() error {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("the directory of the sweep cannot be made: %w; use another --out", err)
	}
	var err error
	if s.lock, err = os.OpenFile(filepath.Join(s.Dir, ".lock"), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return fmt.Errorf("the directory of the sweep cannot be written: %w; use another --out", err)
	}
	if !filelock.Take(s.lock) {
		return fmt.Errorf("another metasim works on the sweep in %s; wait until it has ended, or use another --out", s.Dir)
	}
	if err := s.claim(); err != nil {
		return err
	}
	if s.options.Keep { // also before the first run has ended: Resume sees by it that runs are kept
		if err := os.MkdirAll(filepath.Join(s.Dir, keptDir), 0o700); err != nil {
			return err
		}
	}
	if isShared(s.Dir) { // and over
		if err := newMeeting(s.Dir, s.Plan).putAway(); err != nil {
			return err
		}
	}
	if s.results, err = openResults(s.Dir, s.Plan.Runs(), true); err != nil {
		return err
	}
	// What a killed sweep has left of its attempts is of no use.
	return errors.Join(s.results.cut(), os.RemoveAll(filepath.Join(s.Dir, attemptsDir)))
}

// claim writes sweep.json into a new directory, or compares it with the one that is there.
func (s *Sweep) claim() error {
	text, err := s.Plan.json()
	if err != nil {
		return err
	}
	there, err := readPlan(s.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		entries, err := os.ReadDir(s.Dir)
		if err != nil {
			return err
		}
		if len(entries) > 1 { // the lock is one
			return fmt.Errorf("%s has files, but no %s; use a new or an empty directory as --out", s.Dir, planFile)
		}
		return atomicfile.Write(filepath.Join(s.Dir, planFile), text, 0o600)
	case err != nil:
		return err
	}
	return s.Plan.compare(s.Dir, there)
}

// Close lets others have the directory.
func (s *Sweep) Close() error {
	var err error
	if s.results != nil {
		err = s.results.Close()
	}
	if s.meeting != nil {
		err = errors.Join(err, s.meeting.leave())
	}
	if s.lock != nil {
		err = errors.Join(err, filelock.Close(s.lock))
	}
	return err
}

// Status says how far the sweep has come.
func (s *Sweep) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.results.status(s.Plan, s.Dir)
}

func (s *Sweep) isDone(id int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.results.places[id]
	return p.attempt > 0 && (p.ok || !s.options.Retry)
}

// rowOf is the row of an attempt, of which nothing has come yet.
func (s *Sweep) rowOf(l lease.Lease) *Row {
	row := &Row{ID: l.ID, Attempt: l.Attempt}
	for _, v := range s.Plan.values(l.ID) {
		row.Values = append(row.Values, json.RawMessage(v))
	}
	return row
}

// publishAndPut gives the directory of a run its place, and writes down what came of the run.
func (s *Sweep) publishAndPut(dir string, row *Row, ended func(*Row)) error {
	if err := s.publish(dir, row.ID); err != nil {
		return err
	}
	return s.put(row, ended)
}

// put writes down what came of a run.
func (s *Sweep) put(row *Row, ended func(*Row)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.results.put(row); err != nil {
		return fmt.Errorf("what came of a run cannot be written: %w; make room, and the same command goes on", err)
	}
	ended(row)
	return nil
}

// differs writes down that a late attempt at a run came to something else than the one that counts.
func (s *Sweep) differs(late *Row) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.results.differs(late)
}

// carryOut fills the row of a run. An error is one of this machine, not of the run.
func (s *Sweep) carryOut(ctx context.Context, row *Row, dir string) error {
	sc, err := s.Plan.load(s.text, s.Plan.set(row.ID))
	if err != nil {
		row.Error = varied(err).Error()
		return nil
	}
	o := s.options.How
	o.Out, o.Private, o.Log = dir, true, slog.New(slog.DiscardHandler)
	restarts := slices.ContainsFunc(sc.Clients, func(c scenarios.Client) bool { return c.Restarts > 0 }) // from the journal
	o.NoJournal = !s.options.Keep && !restarts
	out, err := run.Scenario(ctx, sc, o)
	if err == nil && ofDisk(out.Err) {
		err = out.Err
	}
	if err != nil {
		return fmt.Errorf("run %d: %w", row.ID, err)
	}
	row.fill(out)
	return nil
}

// ofDisk reports whether a run failed because of the disk of this machine. Elsewhere, or when there is room, it may well come to its end.
func ofDisk(err error) bool {
	return slices.ContainsFunc([]error{syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO}, func(e error) bool { return errors.Is(err, e) })
}

// fill takes over what is kept of an outcome.
func (r *Row) fill(out *run.Outcome) {
	r.OK, r.Error, r.EndNS, r.WallS = out.OK, out.Error, out.EndNS, out.WallS
	r.Digest, r.SendsDigest, r.ResultsDigest = out.Digest, out.SendsDigest, out.ResultsDigest
	for _, c := range out.Clients {
		if held := math.Round(c.HeldS*1e6) / 1e6; held > 0 {
			if r.HeldS == nil {
				r.HeldS = map[string]float64{}
			}
			r.HeldS[c.Name] = held
		}
		if len(c.Result) > 0 && string(c.Result) != "null" {
			if r.Results == nil {
				r.Results = map[string]json.RawMessage{}
			}
			r.Results[c.Name] = c.Result
		}
	}
}

// publish gives the directory of a run its place if it is to be kept, and removes it else. An earlier attempt makes way.
func (s *Sweep) publish(dir string, id int) error {
	if !s.options.Keep {
		return os.RemoveAll(dir)
	}
	kept := filepath.Join(s.Dir, keptDir, strconv.Itoa(id))
	if err := os.MkdirAll(filepath.Dir(kept), 0o700); err != nil { // somebody may have put away what was kept so far
		return err
	}
	if err := os.RemoveAll(kept); err != nil {
		return err
	}
	if err := os.Rename(dir, kept); err != nil && !errors.Is(err, fs.ErrNotExist) { // a scenario that cannot be loaded has none
		return err
	}
	return nil
}

// attemptName is the name of the directory of an attempt.
func attemptName(l lease.Lease) string { return fmt.Sprintf("%d-%d", l.ID, l.Attempt) }
