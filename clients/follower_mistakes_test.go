package clients_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A call that a node may not make is refused with its own sentence and changes nothing, in C and in Python: of another thread than that which awaits, without a node, with
// pointers to nothing, of what is no bytes.
func TestWrongCallsInOtherLanguages(t *testing.T) {
	t.Parallel()
	inC := compile(t, append([]string{"-pthread"}, sanitized...), "c/test/mistakes.c", "c/metasim_follower.c", object(t, sanitized))
	library, err := filepath.Abs("python")
	require.NoError(t, err)
	const nothing = "RS_ERROR_INVALID_PARAMETERS node %s: a pointer is NULL; give the address of what is read, or of where the result goes\n"
	const thread = "RS_ERROR_INVALID_PARAMETERS node %s, frame 0: another thread awaits the frames of this node; use a node on one thread"
	both := "no node: RS_ERROR_INVALIDHANDLE there is no node; look at what rs_declare has returned: where that is NULL, metasim_error says why\n" +
		"initialise twice: RS_ERROR_ALREADYINITIALISED node %s is initialised; call rs_initialise once\n"
	for _, call := range []string{"isController to nowhere", "engineSyncEnabled to nowhere", "getStreams to nowhere", "receiveInteractionData to nowhere", "sendInteractionData of nothing", "sendPictures of nothing"} {
		both += call + ": " + nothing
	}
	wantC := map[string]string{
		"controller": both + "send of nothing: " + nothing + "send on another thread: " + thread + "\n",
		"follower":   both + "receive to nowhere: " + nothing + "receive on another thread: " + thread + "\n",
	}
	const of = "FollowerError RS_ERROR_INVALID_PARAMETERS node %s: "
	const like = " is neither bytes nor like bytes; encode it, as with struct.pack or json.dumps\n"
	all := "JoinedTwiceError RS_ERROR_ALREADYINITIALISED node %s, frame 0: the node has joined; call join once\n" + of + "'text'" + like + of + "5" + like
	wantPython := map[string]string{
		"controller": all + of + "'text'" + like + of + "None" + like + "TwoThreadsError " + thread,
		"follower":   all + "TwoThreadsError " + thread,
	}
	for language, run := range map[string]string{
		"C": "run: [" + inC, "Python": "env: [PYTHONPATH=" + library + "], run: [" + python(t) + ", -B, " + filepath.Join(library, "tests", "follower_mistakes.py"),
	} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			out := outcomeOf(t, fmt.Sprintf(`name: x
clients:
  - {name: director, model: director, with: {frames: 5}}
  - {name: controller, %s, controller]}
  - {name: follower, %s, follower]}
`, run, run), "unix")
			require.True(t, out.OK, out.Error)
			for _, c := range out.Clients {
				var left struct {
					Frames int      `json:"frames"`
					Said   []string `json:"said"`
				}
				require.NoError(t, json.Unmarshal(c.Result, &left))
				assert.Equal(t, 5, left.Frames, c.Name)
				if c.Name == "director" {
					continue
				}
				said, want := strings.Join(left.Said, "\n"), wantPython[c.Name]
				if language == "C" {
					text, err := os.ReadFile(filepath.Join(out.RunDir, "clients", c.Name+".stderr"))
					require.NoError(t, err)
					said, want = string(text), wantC[c.Name]
				}
				assert.Equal(t, strings.ReplaceAll(want, "%s", c.Name), said)
			}
		})
	}
}
