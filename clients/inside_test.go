package clients_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/client/typed"
	"metasim/metasim"
	"metasim/run"
	"metasim/scenarios"
)

// insider is python/tests/inside.py again, in Go.
func insider([]string) error {
	ctx := context.Background()
	var plan *plans
	var said *client.Publication
	c, err := join(ctx, func(b *client.Builder) error {
		said = b.Publication("SAID")
		return errors.Join(asks(&plan)(b), b.Subscribe("SAID|TICK|HORN", nil))
	})
	if err != nil {
		return err
	}
	answer, err := plan.Call(ctx, []byte("2"), typed.NoLimit)
	if err != nil {
		return err
	}
	called, _, _ := strings.Cut(string(answer), " ")
	names := []string{c.Name(), c.About().Entry, called}
	for {
		messages, err := c.Next(ctx, metasim.Forever)
		if errors.Is(err, client.ErrEnd) {
			break
		}
		if err != nil {
			return err
		}
		for _, m := range messages {
			own := "False"
			if m.From == c.Name() {
				own = "True"
			}
			names = append(names, fmt.Sprintf("%s %s %s", m.From, m.Channel, own))
			if m.Channel == "TICK" {
				if err := said.Publish([]byte(c.Name())); err != nil {
					return err
				}
			}
		}
	}
	return errors.Join(c.SetResult(names), c.Leave(ctx))
}

// A client of a scenario inside of another one has the name there that its scenario gives it, in each language: for itself, in what it hears, and for the services
// that it asks. Its channels are those of its scenario.
func TestInsideAnotherScenario(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	library, err := filepath.Abs("python")
	require.NoError(t, err)
	inC := "run: [" + compile(t, sanitized, "c/test/inside.c", object(t, sanitized)) + "]"
	inCpp := "run: [" + compile(t, sanitized, "cpp/test/inside.cpp", object(t, sanitized)) + "]"
	inPython := "run: [" + python(t) + ", -B, " + filepath.Join(library, "tests", "inside.py") + "], env: [PYTHONPATH=" + library + "]"
	planner := "  - {name: plan, run: [" + self + "], env: [TEST_PROGRAM=planner]}\n"
	exposed := map[bool]string{true: "HORN", false: `HORN, "call:PLAN", "reply:PLAN"`}
	inside := func(program string, plans bool) map[string]string { // plans: the service is inside, too
		dir := t.TempDir()
		outer := filepath.Join(dir, "hall.metasim.yaml")
		hall := "name: hall\nuntil: 30ms\nclients:\n  - {name: cell, count: 2, model: scenario, with: {file: cell.metasim.yaml, expose: [" + exposed[plans] + "]}}\n" +
			"  - {name: horn, model: source, with: {channel: HORN, period: 8ms}}\n"
		cell := "name: cell\nuntil: 30ms\nlinks: [{delay: 1ms}]\nclients:\n  - {name: tick, model: source, with: {channel: TICK, period: 10ms}}\n" +
			"  - {name: arm, count: 2, " + program + `, publish: [SAID, "call:PLAN"], subscribe: ["SAID|TICK|HORN", "reply:PLAN"]}` + "\n"
		if plans {
			cell += planner
		} else {
			hall += planner
		}
		require.NoError(t, os.WriteFile(outer, []byte(hall+"links: [{delay: 1ms}]\n"), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "cell.metasim.yaml"), []byte(cell), 0o600))
		sc, _, err := scenarios.Load(outer, scenarios.Overrides{AllowOutside: true})
		require.NoError(t, err)
		out, err := run.Scenario(t.Context(), sc, run.Options{Out: filepath.Join(t.TempDir(), "run"), Transport: "unix", Self: []string{self}, AllowOutside: true})
		require.NoError(t, err)
		require.True(t, out.OK, out.Error)
		results := map[string]string{"digest": out.Digest}
		for _, c := range out.Clients {
			if strings.Contains(c.Name, "/arm-") {
				results[c.Name] = strings.ReplaceAll(string(c.Result), `", "`, `","`) // as Python writes lists
			}
		}
		return results
	}
	for _, plans := range []bool{true, false} {
		want := inside("run: ["+self+"], env: [TEST_PROGRAM=insider]", plans)
		require.Len(t, want, 5)
		for name, heard := range want {
			cell, own, arm := strings.Cut(name, "/")
			if !arm {
				continue // the digest
			}
			called := name
			if plans {
				called = own
			}
			require.Contains(t, heard, fmt.Sprintf(`["%s","arm","%s",`, own, called), cell)
			for _, line := range []string{own + " SAID True", "tick TICK False", "horn HORN False"} {
				require.Contains(t, heard, `"`+line+`"`, name)
			}
			require.Equal(t, !plans, strings.Contains(heard, "/"), "%s heard %s", name, heard)
		}
		for language, program := range map[string]string{"C": inC, "C++": inCpp, "Python": inPython} {
			require.Equal(t, want, inside(program, plans), language)
		}
	}
}
