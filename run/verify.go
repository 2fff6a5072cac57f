package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"

	"metasim/record/compare"
	"metasim/record/journal"
	"metasim/scenarios"
)

// A Verdict says whether several runs of a scenario were the same: what `metasim verify --json` prints.
type Verdict struct {
	Equal           bool `json:"equal"`
	journal.Digests      // of the first run
	// Differ says which digests of the first run differ from those of the first run that is not the same: deliveries, sends, results.
	Differ []string      `json:"differ,omitempty"`
	Runs   []VerifiedRun `json:"runs"`
	// Divergence names the first difference between the first run and the first that differs from it.
	Divergence string `json:"divergence,omitempty"`
	Error      string `json:"error,omitempty"` // why a run failed
}

// A VerifiedRun is one of them.
type VerifiedRun struct {
	Transport  string `json:"transport"`
	GOMAXPROCS int    `json:"gomaxprocs"`
	Pack       int    `json:"pack,omitempty"` // how many clients shared a process
	journal.Digests
	RunDir string `json:"run_dir,omitempty"` // kept only where runs differ
}

// verifyProcs are the numbers of processors, and verifyPacks the numbers of clients that share a process, which the runs take
// in turn, like the transports: each run differs from the one before in all three, and in the second round each transport has the other number.
var (
	verifyProcs = []int{1, 2, 8}
	verifyPacks = []int{0, 8}
)

// An UnverifiableError tells that a scenario cannot be verified, because of a client.
type UnverifiableError struct{ Client, why string }

func (e *UnverifiableError) Error() string { return fmt.Sprintf("client %q %s", e.Client, e.why) }

// Verify carries out a scenario several times, over these transports in turn and different numbers of processors, and compares the
// digests: of what was delivered, of what was sent, and of the results. The directories of the runs are removed if all are equal, or ctx is done.
func Verify(ctx context.Context, sc *scenarios.Scenario, runs int, transports []string, o Options) (v *Verdict, err error) {
	if i := slices.IndexFunc(sc.Clients, func(c scenarios.Client) bool { return c.External }); i >= 0 {
		return nil, &UnverifiableError{sc.Clients[i].Name,
			"is external, but verify must start every client several times; give it a model or a command"}
	}
	if live := sc.RealTime(); len(live) > 0 {
		return nil, &UnverifiableError{live[0], "takes part in real time, so no two runs are the same and there is nothing to verify; " +
			"take it out, or check a run that was recorded with metasim replay"}
	}
	root, err := os.MkdirTemp("", "metasim-verify-")
	if err != nil {
		return nil, err
	}
	v = &Verdict{Equal: true, Runs: []VerifiedRun{}}
	defer func() {
		if v.Equal {
			err = errors.Join(err, os.RemoveAll(root))
		}
	}()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for i := range runs {
		r := VerifiedRun{
			Transport: transports[i%len(transports)], GOMAXPROCS: verifyProcs[i%len(verifyProcs)],
			Pack:   packs(sc, verifyPacks[(i+i/len(transports))%len(verifyPacks)]),
			RunDir: filepath.Join(root, strconv.Itoa(i+1)),
		}
		if err := v.add(ctx, sc, o, r); err != nil || v.Error != "" {
			return v, err
		}
	}
	if v.Equal {
		for i := range v.Runs {
			v.Runs[i].RunDir = ""
		}
	}
	return v, nil
}

// add carries out one of the runs, and compares it with the first.
func (v *Verdict) add(ctx context.Context, sc *scenarios.Scenario, o Options, r VerifiedRun) error {
	runtime.GOMAXPROCS(r.GOMAXPROCS)
	o.Private, o.NoJournal = true, false // the journals show where runs differ
	o.Transport, o.Out, o.Token, o.Listen, o.Pack = r.Transport, r.RunDir, "", "", r.Pack
	o.Env = append(slices.Clone(o.Env), "GOMAXPROCS="+strconv.Itoa(r.GOMAXPROCS))
	out, err := Scenario(ctx, sc, o)
	switch {
	case err != nil:
		return err
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case !out.OK:
		v.Equal = false
		v.Error = fmt.Sprintf("run %d (%s, kept in %s) failed: %s", len(v.Runs)+1, r.Transport, r.RunDir, out.Error)
		if before := func(v VerifiedRun) bool { return v.Transport == r.Transport }; len(v.Runs) > 0 && !slices.ContainsFunc(v.Runs, before) {
			v.Error += fmt.Sprintf("\nthe runs before it did not fail: if a client does not have %s, leave that out with --transport", r.Transport)
		}
		return nil
	}
	r.Digests = out.Digests
	v.Runs = append(v.Runs, r)
	v.Digests = v.Runs[0].Digests
	if differ := v.Digests.Differ(r.Digests); len(differ) > 0 && v.Equal {
		v.Equal, v.Differ = false, differ
		v.Divergence, err = divergence(v.Runs[0].RunDir, r.RunDir)
	}
	return err
}

// packs returns pack if an entry of the scenario has several models, and else 0: then each client has a process of its own.
func packs(sc *scenarios.Scenario, pack int) int {
	ofOneEntry := func(a, b *scenarios.Client) bool { return a.Entry == b.Entry && new(Options).together(sc, a, b) }
	if len(groups(sc.Clients, pack, ofOneEntry)) < len(sc.Clients) {
		return pack
	}
	return 0
}

// divergence describes the first message in which two runs differ.
func divergence(dirA, dirB string) (string, error) {
	v, err := compare.Runs(dirA, dirB, compare.Options{})
	if err != nil {
		return "", err
	}
	d := v.First
	if d == nil {
		return "the journals are the same, but the digests are not", nil
	}
	return fmt.Sprintf("the first difference is %s: in %s %s; in %s %s", d.Where(), dirA, d.A.Describe(d.B), dirB, d.B.Describe(d.A)), nil
}
