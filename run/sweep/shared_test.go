package sweep

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/run"
	"metasim/run/sweep/lease"
)

// Of workers that prepare a directory at once, all of one sweep agree, and those of another one are refused.
func TestPrepareAtOnce(t *testing.T) {
	s := newStage(t, ring)
	s.options.Share = &Share{}
	other := s.options
	other.Vary = []string{"seed=1,2"}
	for i := range 10 {
		var all sync.WaitGroup
		var errs [6]error
		begin := make(chan struct{})
		for k := range errs {
			o := s.options
			if k%2 == 1 {
				o = other
			}
			o.Dir = filepath.Join(t.TempDir(), "..", strconv.Itoa(i))
			all.Go(func() {
				<-begin
				w, _, err := Open(o)
				if errs[k] = err; err == nil {
					errs[k] = w.Close()
				}
			})
		}
		close(begin)
		all.Wait()
		if errs[0] != nil { // the others were first
			errs[0], errs[1], errs[2], errs[3], errs[4], errs[5] = errs[1], errs[0], errs[3], errs[2], errs[5], errs[4]
		}
		for k, err := range errs {
			if k%2 == 0 {
				require.NoError(t, err)
				continue
			}
			var is *OtherSweepError
			require.ErrorAs(t, err, &is)
			require.Equal(t, []string{"what is varied"}, is.Differ)
		}
	}
}

// A directory that was shared is one of a sweep like any other when all is done: the runs that failed can be done again, and it is not shared any more. Before, others join.
func TestSharedGoesOn(t *testing.T) {
	s := newStage(t, ring)
	want, _ := s.carryOut()
	alone := s.options
	s.options.Share = &Share{}
	_, _, err := Open(s.options)
	require.NoError(t, err, "all is done, so nobody shares anything")
	s.options.Dir, s.options.Keep = filepath.Join(t.TempDir(), "shared"), true
	w, _, err := Open(s.options)
	require.NoError(t, err)
	require.True(t, w.Shared())
	require.NoError(t, w.Close())
	retry := alone
	retry.Dir, retry.Retry = s.options.Dir, true
	_, _, err = Open(retry)
	require.ErrorContains(t, err, "--retry is for when all of them are done")
	retry.Retry, retry.Cluster = false, &Cluster{Workers: 1}
	_, _, err = Open(retry)
	require.ErrorContains(t, err, "leave --launch out")
	joins := alone
	joins.Dir, joins.Keep = s.options.Dir, true
	require.NoError(t, os.WriteFile(filepath.Join(s.options.Dir, sharedDir, versionFile), []byte("0.0.1"), 0o600))
	_, _, err = Open(joins)
	require.ErrorContains(t, err, "was begun by metasim 0.0.1")
	require.NoError(t, os.WriteFile(filepath.Join(s.options.Dir, sharedDir, versionFile), []byte(run.BuildVersion()), 0o600))
	s.options = joins
	got, did := s.carryOut()
	require.Equal(t, 12, did)
	require.Equal(t, want, got)
	require.FileExists(t, filepath.Join(s.options.Dir, keptDir, "11", "journal"))
	require.DirExists(t, filepath.Join(s.options.Dir, sharedDir))
	s.options.Retry = true
	_, did = s.carryOut()
	require.Equal(t, 6, did, "those that failed")
	require.NoDirExists(t, filepath.Join(s.options.Dir, sharedDir))
	s.options.Retry, s.options.Share = false, &Share{}
	_, did = s.carryOut()
	require.Zero(t, did)
	require.NoError(t, os.Remove(filepath.Join(s.options.Dir, resultsFile)))
	_, _, err = Open(s.options)
	require.ErrorContains(t, err, "was begun without --share")
}

// A worker that comes back late finds its run done by another one. The earlier attempt counts; if the later one came to something else, the run fails. What was
// given up stays so.
func TestLateAttempts(t *testing.T) {
	s := newStage(t, ring)
	s.options.Share = &Share{}
	w, _, err := Open(s.options)
	require.NoError(t, err)
	m := w.meeting
	publish := func(id, attempt, lost int, digest string) {
		row := w.rowOf(lease.Lease{ID: id, Attempt: attempt})
		if row.OK, row.Digest = digest != "", digest; lost >= retries {
			row.giveUp(silentWhy)
		}
		require.NoError(t, m.publish(lease.Portion{First: id, Runs: 1, Attempt: attempt, Lost: lost, Worker: "w"}, []*Row{row}))
	}
	publish(0, 2, 1, "a")
	publish(0, 1, 0, "a")
	publish(1, 2, 1, "b")
	publish(1, 1, 0, "a")
	publish(1, 3, 1, "a")
	publish(2, 4, 3, "")
	publish(2, 1, 0, "a")
	r, err := m.conclude()
	require.NoError(t, err)
	rows := map[int]*Row{}
	require.NoError(t, r.all(func(row *Row) error { rows[row.ID] = row; return nil }))
	require.NoError(t, r.Close())
	require.Len(t, rows, 3)
	require.Equal(t, []any{true, "a", 1}, []any{rows[0].OK, rows[0].Digest, rows[0].Attempt})
	require.False(t, rows[1].OK)
	require.Contains(t, rows[1].Error, "attempts 1 and 2 have different digests, a and b, so it is not deterministic")
	require.True(t, rows[2].Poison)
	require.Contains(t, rows[2].Error, "3 workers were lost while they carried it out")
	require.Equal(t, Status{Scenario: "ring", Dir: w.Dir, Runs: 12, Done: 3, Failed: 2, Poison: []int{2}}, r.status(w.Plan, w.Dir))

	file := m.path(doneDir, lease.Portion{First: 0, Runs: 1, Attempt: 1, Worker: "w"})
	require.NoError(t, os.WriteFile(file, []byte("{}\n"), 0o600))
	_, err = m.conclude()
	require.ErrorContains(t, err, "0-1-1-0.w is damaged; remove it, and its runs are done again")
}

// A portion of several runs of a worker that was lost is split, and a worker whose sweep was put away is told.
func TestTakeOver(t *testing.T) {
	s := newStage(t, ring)
	s.options.Share = &Share{}
	w, _, err := Open(s.options)
	require.NoError(t, err)
	m := w.meeting
	sh := &sharer{meeting: m, sweep: w, held: map[lease.Portion]bool{}, came: make(chan came), room: t.TempDir(), ended: func(*Row) {}, watch: &lease.Watch{Worker: m.worker, Runs: 12}}
	lost := lease.Portion{First: 3, Runs: 2, Attempt: 1, Worker: "w"}
	require.NoError(t, os.WriteFile(m.path(takenDir, lost), nil, 0o600))
	require.NoError(t, sh.takeOver(t.Context(), lost))
	require.NoError(t, sh.takeOver(t.Context(), lost), "another one was faster")
	require.NoFileExists(t, m.path(takenDir, lost.Again(m.worker)))
	require.FileExists(t, m.path(todoDir, lease.Portion{First: 4, Runs: 1, Attempt: 2}))
	for id := range 2 {
		suspect := lease.Portion{First: id, Runs: 1, Attempt: 1, Worker: "w"}
		require.NoError(t, os.WriteFile(m.path(takenDir, suspect), nil, 0o600))
		sh.next.Lost = append(sh.next.Lost, suspect)
	}
	require.NoError(t, sh.fill(t.Context()))
	require.Equal(t, 1, sh.running, "one run at a time at which workers were lost")
	require.NoError(t, sh.handBack())
	require.NoError(t, m.putAway())
	_, err = sh.list(false)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.ErrorContains(t, w.Run(t.Context(), func(*Row) {}), "was over while this worker was silent")
}
