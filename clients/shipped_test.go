package clients_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var shipped = flag.Bool("shipped", false, "put a client of each language into each scenario that comes with metasim, over each transport: some minutes")

// In each scenario that comes with metasim, what is replaced, and the model of clients/*/test/models with its arguments.
var swaps = []struct{ scenario, old, model string }{
	{"ping-pong", "model: echo\n    with: {in: PING, out: PONG}", "echo, PING, PONG"},
	{"ring", "model: ring, with: {in: HOP_3, out: HOP_4}", "ring, HOP_3, HOP_4"},
	{"star", "model: echo\n    with: {in: UP, out: DOWN}", "echo, UP, DOWN"},
	{"lcmlog-replay", "model: sink\n    with: {channels: [\".*\"]}", "sink, '.*'"},
	{"phold", "model: phold\n    with: {lps: 64, population: 4, remote: 0.25, mean: 10ms, lookahead: 1ms}", "phold, '64', '4', '0.25', '10000000', '1000000', '4'"},
	{"cart-pole", "model: cartpole-controller", "controller"},
	{"mix-200", "model: echo, with: {in: CHAIN_4, out: CHAIN_5}", "echo, CHAIN_4, CHAIN_5"},
	{"cell", "model: echo\n    with: {in: PART, out: DONE}", "echo, PART, DONE"},
	{"cells", "model: echo\n    with: {in: DONE, out: BELT}", "echo, DONE, BELT"},
	{"authority", "model: sink\n    with: {channels: [owners]}", "sink, owners"},
}

// Each scenario that comes with metasim gives the same run with a client of another language in it. -shipped tries all of them, in each language over each
// transport; without it the short ones are tried, in one language each.
func TestInShippedScenarios(t *testing.T) {
	files, err := filepath.Glob("../scenarios/*.metasim.yaml")
	require.NoError(t, err)
	require.Len(t, swaps, len(files), "a scenario without a client of another language; say here what takes whose place")
	phold := filepath.Join(t.TempDir(), "phold.o")
	command(t, compiler(t, "gcc"), append([]string{"-std=c99", "-c", "-o", phold, "c/test/phold.c"}, strict...)...)
	library, err := filepath.Abs("python")
	require.NoError(t, err)
	programs := map[string]string{
		"c":      compile(t, nil, "c/test/models.c", phold, "-lm"),
		"cpp":    compile(t, nil, "cpp/test/models.cpp", phold, "-lm"),
		"python": python(t) + ", -B, " + filepath.Join(library, "tests", "models.py"),
	}
	data, err := filepath.Abs("../scenarios/data")
	require.NoError(t, err)
	for i, swap := range swaps {
		if i >= 4 && !*shipped {
			continue
		}
		text, err := os.ReadFile("../scenarios/" + swap.scenario + ".metasim.yaml")
		require.NoError(t, err)
		builtIn := strings.ReplaceAll(string(text), "file: data/", "file: "+data+"/")
		builtIn = strings.ReplaceAll(builtIn, "file: cell", "file: "+filepath.Dir(data)+"/cell")
		want := carryOut(t, builtIn, "mem")
		for j, language := range []string{"c", "cpp", "python"} {
			if i%3 != j && !*shipped {
				continue
			}
			program := programs[language]
			run := fmt.Sprintf("env: [PYTHONPATH=%s], run: [%s, %s]", library, program, swap.model)
			if strings.Contains(builtIn, "\n    "+swap.old) { // a line of its own
				run = strings.Replace(run, ", run:", "\n    run:", 1)
			}
			swapped := strings.Replace(builtIn, swap.old, run, 1)
			require.NotEqual(t, builtIn, swapped, swap.scenario)
			for _, transport := range []string{"unix", "tcp", "shm"} {
				if transport == "unix" || *shipped {
					require.Equal(t, want, carryOut(t, swapped, transport), "%s in %s over %s", swap.scenario, language, transport)
				}
			}
		}
	}
}
