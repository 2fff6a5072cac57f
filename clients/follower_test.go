package clients_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/run"
	"metasim/scenarios"
)

// stories plays conformance/followers.txt with a program, which says what comes of each call.
func stories(t *testing.T, name string, args ...string) {
	t.Helper()
	want, err := os.ReadFile("../conformance/followers.txt")
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Env = append(os.Environ(), "PYTHONPATH=python")
	cmd.Stdin, cmd.Stderr = strings.NewReader(string(want)), os.Stderr
	got, err := cmd.Output()
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

// The node's machine in C, and that in Python, say in each story what the one in Go says.
func TestNodesPlayTheirStories(t *testing.T) {
	t.Parallel()
	stories(t, compile(t, sanitized, "c/test/stories.c", object(t, sanitized)))
	stories(t, python(t), "-B", "python/tests/stories.py")
}

// A shown is what a node leaves with.
type shown struct {
	Frames       int    `json:"frames"`
	AsController int    `json:"as_controller"`
	DataHash     string `json:"data_hash"`
	TimedOut     bool   `json:"timed_out"`
}

// outcomeOf carries out a scenario of nodes.
func outcomeOf(t *testing.T, text, transport string) *run.Outcome {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	sc, _, err := scenarios.Parse("x.metasim.yaml", []byte(text), scenarios.Overrides{AllowOutside: true})
	require.NoError(t, err)
	out, err := run.Scenario(t.Context(), sc, run.Options{Out: filepath.Join(t.TempDir(), "run"), Transport: transport, Self: []string{self}, AllowOutside: true})
	require.NoError(t, err)
	return out
}

// cluster carries a scenario out that has no mistakes, and returns what its clients left with.
func cluster(t *testing.T, text, transport string) map[string]shown {
	t.Helper()
	out := outcomeOf(t, text, transport)
	require.True(t, out.OK, out.Error)
	results := map[string]shown{}
	for _, c := range out.Clients {
		var s shown
		require.NoError(t, json.Unmarshal(c.Result, &s), c.Name)
		results[c.Name] = s
	}
	return results
}

// Nodes in C and in Python join the cluster of those in Go, follow, take over and lead, and all have the same data.
func TestNodesInOtherLanguages(t *testing.T) {
	t.Parallel()
	c := compile(t, nil, "c/examples/follower.c", "c/metasim_follower.c", object(t, nil))
	library, err := filepath.Abs("python")
	require.NoError(t, err)
	py := "env: [PYTHONPATH=" + library + "], run: [" + python(t) + ", -B, " + filepath.Join(library, "examples", "follower.py")
	inC := "run: [" + c
	for transport, packing := range map[string]string{"unix": "none", "shm": "changes"} { // tcp is read and written as unix is
		for _, v := range []struct{ name, lead, next string }{{"C leads", inC, py}, {"Python leads", py, inC}} {
			t.Run(v.name+" "+transport, func(t *testing.T) {
				t.Parallel()
				results := cluster(t, fmt.Sprintf(`name: x
clients:
  - {name: director, model: director, with: {frame_rate: 60000/1001, frames: 40, reset: [5], streams_changed: [7], packing: %s}}
  - {name: go-1, model: render-node, with: {role: controller, fail_at: 10, fail: half-way, state_bytes: 20000}}
  - {name: a-next, %s, understudy]}
  - {name: last, %s, understudy]}
  - {name: other, %s, follower]}
  - {name: go-2, model: render-node}
`, packing, v.lead, v.next, v.next), transport)
				want := results["go-2"]
				assert.Equal(t, 40, want.Frames)
				assert.Equal(t, 30, results["a-next"].AsController)
				for _, name := range []string{"a-next", "last", "other"} {
					assert.Equal(t, want.DataHash, results[name].DataHash, name)
					assert.Equal(t, 40, results[name].Frames, name)
				}
			})
		}
	}
}

// Nodes in C and in Python have no zstd, and say so.
func TestNodesWithoutZstd(t *testing.T) {
	t.Parallel()
	library, err := filepath.Abs("python")
	require.NoError(t, err)
	for language, node := range map[string]string{
		"C":      "run: [" + compile(t, nil, "c/examples/follower.c", "c/metasim_follower.c", object(t, nil)),
		"Python": "env: [PYTHONPATH=" + library + "], run: [" + python(t) + ", -B, " + filepath.Join(library, "examples", "follower.py"),
	} {
		out := outcomeOf(t, fmt.Sprintf(`name: x
clients:
  - {name: director, model: director, with: {frames: 4, packing: delta}}
  - {name: lead, model: render-node, with: {role: controller}}
  - {name: other, %s, follower]}
`, node), "unix")
		require.False(t, out.OK)
		assert.Contains(t, out.Error, `client "director" asks for data that is packed with zstd, which nodes in `+language+` do not read; set its packing to changes, or to none`)
	}
}

// A role that there is not is refused where the node is declared, and the client that joins nevertheless says so too.
func TestRolesInC(t *testing.T) {
	t.Parallel()
	said, err := exec.Command(compile(t, nil, "c/test/roles.c", "c/metasim_follower.c", object(t, nil))).CombinedOutput()
	require.NoError(t, err, string(said))
	want := ""
	for _, role := range []int{3, -1, 1000} {
		sentence := fmt.Sprintf("client \"node\": the role of a node is %d; use RS_FOLLOWER, RS_UNDERSTUDY or RS_CONTROLLER\n", role)
		want += sentence + sentence
	}
	require.Equal(t, want, string(said))
}

// What a node may not do is an error of its own at this node, or names it in the outcome of the run, and the others lose no frame by it, or all end at once.
func TestBadInputOfNodes(t *testing.T) {
	t.Parallel()
	library, err := filepath.Abs("python")
	require.NoError(t, err)
	inC := compile(t, nil, "c/examples/follower.c", "c/metasim_follower.c", object(t, nil))
	rogue := "run: [" + python(t) + ", -B, " + filepath.Join(library, "tests", "rogue.py")
	const never = "controller rogue said that it has sent for tTracked 50ms (frame 3), and no node has got all of it within 200ms; send what is announced, or raise the patience if links are slow"
	const two = `client "rogue" sent the data of frame 3, of which lead is the controller; send only where IsController says so`
	const both = "nodes lead and rogue are controllers of one cluster; keep one of them, and make the others understudies"
	for _, c := range []struct {
		what, lead, links string
		ok                bool
		said, outcome     string // by the node; by the director, or by the run
	}{
		{"never-awaits", "controller", "", true, "it was never told", "node rogue did not send frame 0 back within 200ms"},
		{"sends-twice", "follower", "", true, "SentTwiceError: node rogue, frame 3: the data of this frame is sent; send once in a frame", ""},
		{"sends-twice-on-the-wire", "follower", "", true, `client "rogue" sent the data of frame 3 twice; send once in a frame; the others go on without it`,
			`client \"rogue\" sent the data of frame 3 twice; send once in a frame`},
		{"another-run", "follower", "", true, `client "rogue" sent data for frame 2023, and 1024 frames before it were not asked for; is it a client of another run?; the others go on without it`,
			`client \"rogue\" sent data for frame 2023`},
		{"other-sizes", "follower", "", true, `client "rogue" announced 10 bytes for frame 3, and sent others; it may be another program; the others go on without it`,
			`client \"rogue\" announced 10 bytes for frame 3, and sent others; it may be another program`},
		{"announces", "follower", "", true, never + "; the others go on without it", never},
		{"sends-an-older-frame", "follower", "", true, never + "; the others go on without it", never},
		{"leads-too", "controller", "", true, two + "; the others go on without it", `client \"rogue\" sent the data of frame 3`},
		{"directs", "controller", "", true, `client "rogue" publishes on director/orders, which is the director's; use another channel; the others go on without it`, `client \"rogue\" publishes on director/orders`},
		{"second-controller", "controller", "", false, both, both},
		{"late", "controller", "links: [{from: rogue, to: director, delay: 100ms}]", true,
			"node rogue said hello after the first frame was asked for; name it in the director's nodes, which it waits for", "node rogue said hello after the first frame was asked for"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			victims := ""
			if strings.Contains(c.said, "the others go on") {
				victims = fmt.Sprintf("  - {name: py, env: [PYTHONPATH=%s], run: [%s, -B, %s, follower]}\n  - {name: c, run: [%s, follower]}\n",
					library, python(t), filepath.Join(library, "examples", "follower.py"), inC)
			}
			out := outcomeOf(t, fmt.Sprintf(`name: x
clients:
  - {name: director, model: director, with: {frames: 30, patience: 200ms}}
  - {name: lead, model: render-node, with: {role: %s, state_bytes: 100}}
  - {name: next, model: render-node, with: {role: understudy, state_bytes: 100}}
  - {name: rogue, env: [PYTHONPATH=%s], %s, %s]}
%s%s
`, c.lead, library, rogue, c.what, victims, c.links), "unix")
			require.Equal(t, c.ok, out.OK, out.Error)
			if !c.ok {
				assert.Contains(t, out.Error, c.outcome)
			}
			leaves(t, out, c.ok, c.said, c.outcome)
		})
	}
}

// leaves fails the test unless the rogue has left with what it was told, the director with the outcome, and all others have shown each frame, or were told why there is none.
func leaves(t *testing.T, out *run.Outcome, ok bool, said, outcome string) {
	t.Helper()
	for _, o := range out.Clients {
		r := struct {
			Frames int
			Said   string
			Quit   string
			Failed bool
		}{}
		if o.Name == "director" {
			if ok {
				assert.Contains(t, string(o.Result), outcome)
			}
			continue
		}
		require.NoError(t, json.Unmarshal(o.Result, &r), o.Name)
		switch {
		case o.Name == "rogue":
			assert.Equal(t, said, r.Said)
		case ok:
			assert.Equal(t, 30, r.Frames)
		default:
			assert.Equal(t, outcome, r.Quit)
			assert.Equal(t, o.Name == "lead", r.Failed)
		}
	}
}

// A controller that hangs before it has awaited anything holds all others. Its hang_timeout ends it, and an understudy computes all frames.
func TestANodeThatHangsFromTheBeginning(t *testing.T) {
	t.Parallel()
	library, err := filepath.Abs("python")
	require.NoError(t, err)
	results := cluster(t, fmt.Sprintf(`name: x
clients:
  - {name: director, model: director, with: {frames: 5}}
  - {name: rogue, env: [PYTHONPATH=%s], run: [%s, -B, %s, hangs], on_exit: detach, hang_timeout: 100ms}
  - {name: next, model: render-node, with: {role: understudy, state_bytes: 100}}
  - {name: other, model: render-node}
`, library, python(t), filepath.Join(library, "tests", "rogue.py")), "unix")
	assert.Equal(t, 5, results["next"].AsController)
	assert.Equal(t, 5, results["other"].Frames)
}
