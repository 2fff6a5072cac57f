package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"metasim/run"
)

// A worldVerdict is what metasim verify --json prints of a world.
type worldVerdict struct {
	Equal bool       `json:"equal"`
	Error string     `json:"error"`
	Runs  []worldRun `json:"runs"`
}

// A worldRun is one of the runs that are compared.
type worldRun struct {
	Runners   int    `json:"runners"` // secondaries; 0: the world moved all models itself
	Transport string `json:"transport"`
	StateHash string `json:"state_hash"`
	division
	DiffersAt int `json:"differs_at,omitempty"` // the first iteration whose state is not that of the first run

	hashes []byte
}

// verifyWorld runs a world alone in one client, and with each number of secondaries over each transport, where systems in placeholders have clients of their own, and compares the state after each step.
// Secondaries are started in another order each time.
func verifyWorld(ctx context.Context, file string, iterations uint64, runners []int, transports []string, balance string) (*worldVerdict, error) {
	dir, err := os.MkdirTemp("", "metasim-verify-")
	if err != nil {
		return nil, failed(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // what is left is in the directory for what is temporary
	v := &worldVerdict{Equal: true, Runs: []worldRun{}}
	add := func(secondaries int, transport string) error {
		one, err := runWorldOnce(ctx, dir, file, &worldFlags{startsWith: len(v.Runs), compares: true}, iterations, secondaries, transport, balance)
		if err != nil {
			return err
		}
		if len(v.Runs) > 0 {
			one.DiffersAt = firstDifference(v.Runs[0].hashes, one.hashes)
			v.Equal = v.Equal && one.DiffersAt == 0
		}
		v.Runs = append(v.Runs, one)
		return nil
	}
	if err := add(0, "in-process"); err != nil {
		return nil, err
	}
	for _, n := range runners {
		for _, transport := range transports {
			if err := add(n, transport); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// runWorldOnce is metasim world run, whose run is thrown away.
func runWorldOnce(ctx context.Context, dir, file string, f *worldFlags, iterations uint64, secondaries int, transport, balance string) (one worldRun, err error) {
	hashes, out := filepath.Join(dir, "hashes"), filepath.Join(dir, "run")
	args := []string{file, "--json", "--progress", "none", "--iterations", strconv.FormatUint(iterations, 10), "--runtimes", transport, "--hashes", hashes, "--out", out}
	if secondaries > 0 {
		args = append(args, "--secondaries", strconv.Itoa(secondaries), "--balance", balance)
	}
	var text, said bytes.Buffer
	cmd := worldRunWith(f, streams{out: &text, err: &said})
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	if err := cmd.ExecuteContext(ctx); err != nil {
		return one, fmt.Errorf("with %d secondaries over %s: %w", secondaries, transport, err)
	}
	var o worldOutcome
	if err := json.Unmarshal(text.Bytes(), &o); err != nil {
		return one, failed(err)
	}
	one = worldRun{Runners: secondaries, Transport: transport, StateHash: o.StateHash, division: o.division}
	if one.hashes, err = os.ReadFile(hashes); err != nil {
		return one, failed(err)
	}
	return one, failed(os.RemoveAll(out))
}

// firstDifference returns the number of the first line, from 1 on, that two texts do not share; 0: they are the same.
func firstDifference(a, b []byte) int {
	if bytes.Equal(a, b) {
		return 0
	}
	line := 1
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			break
		}
		if a[i] == '\n' {
			line++
		}
	}
	return line
}

// failure is why a verdict is no proof; nil: it is one.
func (v *worldVerdict) failure() error {
	for _, r := range v.Runs {
		if r.DiffersAt > 0 {
			return fmt.Errorf("the states are not equal: with %d secondaries over %s they differ from iteration %d on; that is a mistake of metasim, or of a system in the world that is no function of what it is given", r.Runners, r.Transport, r.DiffersAt)
		}
	}
	return nil
}

func (v *worldVerdict) print(w io.Writer, iterations uint64) error {
	var text bytes.Buffer
	for _, r := range v.Runs {
		who := "alone"
		if r.Runners > 0 {
			who = fmt.Sprintf("%d secondaries", r.Runners)
		}
		fmt.Fprintf(&text, "%-15s %-10s %s  %d hand-overs, %d merges, %d splits, %.4g s ahead\n", who, r.Transport, r.StateHash, r.Handovers, r.Merges, r.Splits, r.RunAheadS)
	}
	if v.Equal {
		fmt.Fprintf(&text, "equal: %d runs, one state after each of %d steps\n", len(v.Runs), iterations)
	}
	_, err := w.Write(text.Bytes())
	return err
}

// carryOutWorld is metasim verify of a world.
func carryOutWorld(ctx context.Context, file string, iterations uint64, runners []int, transports []string, balance string, asJSON bool, std streams) error {
	for _, n := range runners {
		if n < 0 || n > run.MostSecondaries {
			return badUsage(fmt.Errorf("--runners has %d; write whole numbers from 0 to %d, as in 0,1,2,3", n, run.MostSecondaries))
		}
	}
	if iterations == 0 {
		return badUsage(errors.New("nothing says how many steps of the world are compared; use --iterations"))
	}
	v, err := verifyWorld(ctx, file, iterations, runners, transports, balance)
	if err != nil {
		v = &worldVerdict{Runs: []worldRun{}, Error: err.Error()}
	} else if err = failed(v.failure()); err != nil {
		v.Error = err.Error()
	}
	if asJSON {
		return errors.Join(err, failed(printJSON(std.out, v)))
	}
	return errors.Join(err, failed(v.print(std.out, iterations)))
}
