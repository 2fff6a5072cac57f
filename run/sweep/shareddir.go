package sweep

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"metasim/internal/atomicfile"
	"metasim/run"
	"metasim/run/sweep/lease"
)

// In the directory of a sweep that is shared, sharedDir is where its workers meet. Each portion is a file in todo or in taken, and goes from one to the other by a rename, which one worker
// can do. done has a file for each attempt that has ended, with the lines of its runs. beats has a file for each worker, with a number that it changes. attempts has a
// directory for each, for what is not complete.
const (
	sharedDir   = "shared"
	todoDir     = "todo"
	takenDir    = "taken"
	doneDir     = "done"
	beatsDir    = "beats"
	versionFile = "version"
)

// A meeting is sharedDir, for one worker.
type meeting struct {
	plan    *Plan
	sweep   string // the directory of the sweep
	dir     string
	own     string // in attempts
	worker  string
	beats   uint64
	silence time.Duration // by its own word
}

// newMeeting is for a worker with a name that no other has.
func newMeeting(dir string, p *Plan) *meeting {
	host, _ := os.Hostname() // without it, the rest of the name is enough
	m := &meeting{plan: p, sweep: dir, dir: filepath.Join(dir, sharedDir), worker: fmt.Sprintf("%.40s-%d-%s", strings.ReplaceAll(host, "/", ""), os.Getpid(), rand.Text()[:8])}
	m.own = filepath.Join(m.dir, attemptsDir, m.worker)
	return m
}

// isShared reports whether a directory is one that workers share.
func isShared(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, sharedDir))
	return err == nil
}

// prepare makes the directory, unless another worker has, or is faster: it is made whole under a name of its own, and one rename gives it its place.
func (m *meeting) prepare() error {
	if err := os.MkdirAll(m.sweep, 0o700); err != nil {
		return fmt.Errorf("the directory of the sweep cannot be made: %w; use another --out", err)
	}
	if !isShared(m.sweep) {
		own := m.dir + "." + m.worker
		err := m.build(own)
		if err == nil {
			err = os.Rename(own, m.dir)
		}
		if err = errors.Join(err, os.RemoveAll(own)); err != nil && !isShared(m.sweep) {
			return err
		}
	}
	there, err := readPlan(m.dir)
	if err == nil {
		err = m.plan.compare(m.sweep, there)
	}
	if err != nil {
		return err
	}
	version, err := os.ReadFile(filepath.Join(m.dir, versionFile))
	if err == nil && string(version) != run.BuildVersion() {
		err = fmt.Errorf("the sweep in %s was begun by metasim %s, and this is %s; use the same version on all hosts", m.sweep, version, run.BuildVersion())
	}
	if err == nil {
		err = os.MkdirAll(m.own, 0o700)
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(m.sweep, planFile)); errors.Is(err, fs.ErrNotExist) { // all would write the same
		return errors.Join(m.plan.write(m.own), m.place(planFile))
	}
	return nil
}

// build makes all that a sweep begins with.
func (m *meeting) build(dir string) error {
	entries, err := os.ReadDir(m.sweep)
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(m.sweep, planFile)); err == nil {
		return fmt.Errorf("the sweep in %s was begun without --share; go on with it without, or use another --out", m.sweep)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), sharedDir) && e.Name() != planFile { // which another one may have written just now
			return fmt.Errorf("%s has files, but no %s; use a new or an empty directory as --out", m.sweep, planFile)
		}
	}
	for _, name := range []string{todoDir, takenDir, doneDir, beatsDir, attemptsDir} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return err
		}
	}
	for _, p := range lease.Portions(m.plan.Runs()) {
		if err := os.WriteFile(filepath.Join(dir, todoDir, p.Name()), nil, 0o600); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, versionFile), []byte(run.BuildVersion()), 0o600); err != nil {
		return err
	}
	return m.plan.write(dir)
}

// write writes sweep.json into a directory.
func (p *Plan) write(dir string) error {
	text, err := p.json()
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, planFile), text, 0o600)
}

// place moves a file from the worker's own directory into the directory of the sweep. It replaces the file that another worker may have put there.
func (m *meeting) place(name string) error {
	return os.Rename(filepath.Join(m.own, name), filepath.Join(m.sweep, name))
}

// write puts portions into todo.
func (m *meeting) write(portions []lease.Portion) error {
	for _, p := range portions {
		if err := os.WriteFile(m.path(todoDir, p), nil, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// conclude writes results.jsonl and table.csv. Several may do so at once, and one of them from fewer attempts: so each looks afterwards whether there are more.
func (m *meeting) conclude() (*results, error) {
	for {
		r, done, err := gather(m.dir, m.plan, m.own)
		if err != nil {
			return nil, err
		}
		err = writeTable(m.own, m.plan, r)
		if err = errors.Join(err, r.Close()); err == nil {
			err = errors.Join(m.place(resultsFile), m.place(tableFile))
		}
		if err != nil {
			return nil, err
		}
		all, err := names(filepath.Join(m.dir, doneDir))
		if err != nil {
			return nil, err
		}
		if len(lease.ParsePortions(all, m.plan.Runs())) == len(done) {
			return openResults(m.sweep, m.plan.Runs(), false)
		}
	}
}

// putAway ends the sharing of a directory of which all is done. A worker that was silent until now finds nothing that it could write to.
func (m *meeting) putAway() error {
	err := os.MkdirAll(m.own, 0o700)
	if err == nil {
		var r *results
		if r, err = m.conclude(); err == nil {
			err = r.Close()
		}
	}
	if err == nil {
		away := m.dir + ".over"
		err = errors.Join(os.RemoveAll(away), os.Rename(m.dir, away), os.RemoveAll(away))
	}
	return err
}

// leave removes what only this worker needed.
func (m *meeting) leave() error {
	return errors.Join(os.RemoveAll(m.own), os.RemoveAll(filepath.Join(m.dir, beatsDir, m.worker)))
}

// path is the file of a portion in one of the directories.
func (m *meeting) path(dir string, p lease.Portion) string {
	return filepath.Join(m.dir, dir, p.Name())
}

// move moves a portion, and reports whether this worker was the first.
func (m *meeting) move(from string, p lease.Portion, to string, moved lease.Portion) (bool, error) {
	err := os.Rename(m.path(from, p), m.path(to, moved))
	if errors.Is(err, fs.ErrNotExist) {
		_, err := os.Stat(m.path(to, moved)) // NFS may lose the answer to a rename that it has done, ask again, and be told that the file is gone
		return err == nil, nil
	}
	return err == nil, err
}

// beat says that this worker is there. The file is written in place: who opens a file by its name on NFS sees what was in it when it was last closed, but may see an old one where it was replaced.
func (m *meeting) beat() error {
	f, err := os.OpenFile(filepath.Join(m.dir, beatsDir, m.worker), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	m.beats++
	_, err = fmt.Fprintf(f, "%020d %020d", m.beats, m.silence)
	return errors.Join(err, f.Close())
}

// list reads which portions are in todo, in taken and in done, in this order. So a portion that moves on meanwhile is in one of the lists at least. withBeats: it also reads the beats of the
// workers that have portions.
func (m *meeting) list(withBeats bool) (l lease.Listing, err error) {
	for _, d := range []struct {
		name string
		to   *[]string
	}{{todoDir, &l.Todo}, {takenDir, &l.Taken}, {doneDir, &l.Done}} {
		if *d.to, err = names(filepath.Join(m.dir, d.name)); err != nil {
			return l, err
		}
	}
	if l.Beats = map[string]lease.Beat{}; withBeats {
		for _, p := range lease.ParsePortions(l.Taken, m.plan.Runs()) {
			var b lease.Beat
			text, _ := os.ReadFile(filepath.Join(m.dir, beatsDir, p.Worker)) // a beat that cannot be read is no beat
			if _, err := fmt.Sscanf(string(text), "%d %d", &b.Count, &b.Silence); err == nil {
				l.Beats[p.Worker] = b
			}
		}
	}
	return l, nil
}

// names lists a directory.
func names(dir string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	all, err := f.Readdirnames(-1)
	return all, errors.Join(err, f.Close())
}

// publish puts what came of a portion into done, whole. The portion is nobody's any more then; if others have taken it over, they do it again, and both are compared.
func (m *meeting) publish(p lease.Portion, rows []*Row) error {
	own := filepath.Join(m.own, p.Name())
	f, err := os.OpenFile(own, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	for e := json.NewEncoder(f); len(rows) > 0; rows = rows[1:] {
		err = errors.Join(err, e.Encode(rows[0]))
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(own, m.path(doneDir, p))
	}
	if err != nil {
		return fmt.Errorf("what came of a run cannot be written: %w; make room, and the same command goes on", err)
	}
	if err := os.Remove(m.path(takenDir, p)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// gather writes results.jsonl into a directory, of what is done: of a run that was done twice, the first attempt, if the other came to the same. It returns which portions those were.
func gather(shared string, plan *Plan, into string) (r *results, done []lease.Portion, err error) {
	all, err := names(filepath.Join(shared, doneDir))
	if err != nil {
		return nil, nil, err
	}
	done = lease.ParsePortions(all, plan.Runs())
	lease.InOrder(done, retries)
	f, err := os.OpenFile(filepath.Join(into, resultsFile), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, nil, err
	}
	r = &results{File: f, places: make([]place, plan.Runs())}
	first := map[int]string{} // what attempts are worth, of runs that were not given up
	for _, p := range done {
		if err := r.take(filepath.Join(shared, doneDir, p.Name()), p, first); err != nil {
			return nil, nil, errors.Join(err, f.Close())
		}
	}
	return r, done, nil
}

// take takes the lines of a portion over.
func (r *results) take(file string, p lease.Portion, first map[int]string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	d := json.NewDecoder(f)
	for i := range p.Runs {
		row := &Row{}
		if err := d.Decode(row); err != nil || row.ID != p.First+i || row.Attempt != p.Attempt {
			return fmt.Errorf("%s is damaged; remove it, and its runs are done again", file)
		}
		switch worth, known := first[row.ID]; {
		case r.places[row.ID].attempt == 0:
			err = r.put(row)
			if !row.Poison {
				first[row.ID] = row.worth()
			}
		case known && worth != row.worth():
			err = r.differs(row)
		}
		if err != nil {
			return err
		}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s is damaged; remove it, and its runs are done again", file)
	}
	return nil
}
