package mutants

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// machine is the folder of the machine, seen from here.
const machine = "../../metasim"

// An edit replaces a text that a file of the machine holds exactly once, inside of a function.
type edit struct{ file, old, new string }

// A mutant is a planted mistake.
type mutant struct {
	name     string
	edits    []edit
	harmless bool // it costs something, but not correctness: no test may fail
	endless  bool // a test of followers that notices it does not come to an end
}

// A program is the tests of one folder of the machine, with all mistakes planted.
type program struct{ folder, binary string }

func build(t *testing.T, folder, dir, overlay string) program {
	p := program{filepath.Join(machine, folder), filepath.Join(dir, filepath.Base(folder)+".test")}
	c := exec.CommandContext(context.Background(), "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", p.binary, ".")
	c.Dir = p.folder
	out, err := c.CombinedOutput()
	require.NoError(t, err, "the mistakes do not compile:\n%s", out)
	return p
}

var failed = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

// A look is some tests, and in how many scenarios those look whose name begins with Interleave.
type look struct{ tests, seeds string }

// looks look for a mistake one after the other: what takes long looks for what the others have not caught. The first one finds those that
// make others hang.
var looks = []look{
	{"Script|Interleave$", "3"},
	{"SafeTimes|Forest|Candidates|Heap|LeastSend|Memory[A-Z]|QueueMemory|Cascade|Message|QueueTwin", "0"},
	{"Interleave$|InterleaveMemory", "50"},
}

// run runs tests with one mistake, none for 0, and returns the names of the tests that caught it.
func (p program) run(number int, l look) []string {
	c := exec.CommandContext(context.Background(), p.binary,
		"-test.run", l.tests, "-test.short", "-test.failfast", "-test.timeout", "2m", "-rapid.nofailfile", "-rapid.shrinktime", "0s", "-graphs", "1000")
	if filepath.Base(p.folder) == filepath.Base(machine) {
		c.Args = append(c.Args, "-seeds", l.seeds, "-orders", "4")
	}
	c.Dir = p.folder
	c.Env = append(os.Environ(), selector+"="+strconv.Itoa(number))
	text, err := c.CombinedOutput()
	var caught []string
	for _, match := range failed.FindAllStringSubmatch(string(text), -1) {
		caught = append(caught, match[1])
	}
	if err != nil && len(caught) == 0 {
		caught = []string{"it crashed: " + strings.SplitN(string(text), "\n", 2)[0]}
	}
	slices.Sort(caught)
	return caught
}

// Every planted mistake is caught, and every harmless change is not.
func TestMutants(t *testing.T) {
	dir := t.TempDir()
	overlay := plant(t, dir, mutants)
	programs := []program{build(t, ".", dir, overlay), build(t, "safetime", dir, overlay)}
	for _, p := range programs {
		for _, look := range looks {
			require.Empty(t, p.run(0, look), "%s fails without a mistake", p.folder)
		}
	}
	for i, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			var caught []string
			for _, look := range looks {
				for _, p := range programs {
					if len(caught) == 0 {
						caught = p.run(i+1, look)
					}
				}
			}
			if m.harmless {
				require.Empty(t, caught, "this should only cost speed")
				return
			}
			require.NotEmpty(t, caught, "no test notices")
			t.Logf("caught by %s", strings.Join(caught, ", "))
		})
	}
}
