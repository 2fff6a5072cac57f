package clients_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/run"
	"metasim/scenarios"
)

// A loop of steps ends with the run and where its body leaves, and the result is asked for when the client leaves, not before. What goes wrong there
// fails the client.
func TestLeaving(t *testing.T) {
	library, err := filepath.Abs("python")
	require.NoError(t, err)
	programs := map[string]string{
		"c":      compile(t, sanitized, "c/test/leaving.c", object(t, sanitized)),
		"cpp":    compile(t, nil, "cpp/test/leaving.cpp", object(t, nil)),
		"python": python(t) + ", -B, " + filepath.Join(library, "tests", "leaving.py"),
	}
	carried := func(clients string) *run.Outcome {
		sc, _, err := scenarios.Parse("x.metasim.yaml", []byte("name: x\nuntil: 50ms\nclients:\n"+clients), scenarios.Overrides{AllowOutside: true})
		require.NoError(t, err)
		out, err := run.Scenario(t.Context(), sc, run.Options{Out: filepath.Join(t.TempDir(), "run"), Transport: "unix", Self: []string{os.Args[0]}, AllowOutside: true})
		require.NoError(t, err)
		return out
	}
	client := func(language, how string) string {
		return fmt.Sprintf("  - {name: %s-%s, env: [PYTHONPATH=%s], run: [%s, %s]}\n", language, how, library, programs[language], how)
	}
	leave := map[string]string{"leave": `{"seen":5}`, "run": `{"seen":5}`, "inside": `{"seen":3}`}
	var all strings.Builder
	for language := range programs {
		for how := range leave {
			all.WriteString(client(language, how))
		}
	}
	out := carried(all.String())
	require.True(t, out.OK, out.Error)
	require.Len(t, out.Clients, 9)
	for _, c := range out.Clients {
		_, how, _ := strings.Cut(c.Name, "-")
		require.JSONEq(t, leave[how], string(c.Result), c.Name)
	}
	raised := map[string]string{"c": "the handler of metasim_on_leave returned 1", "cpp": "out of fuel", "python": "ValueError: out of fuel"}
	for language := range programs {
		for how, want := range map[string]string{"no-json": "result", "raises": raised[language], "period": "steps by 0 ns; use a positive period"} {
			require.Contains(t, carried(client(language, how)).Error, want, "%s %s", language, how)
		}
	}
}
