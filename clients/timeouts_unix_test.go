//go:build unix

package clients_test

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// An await whose timeout ends is a matter of real time alone: it loses no frame, over sockets and over shared memory.
func TestTimeoutsInOtherLanguages(t *testing.T) {
	t.Parallel()
	c := compile(t, nil, "c/test/timeouts.c", "c/metasim_follower.c", object(t, nil))
	library, err := filepath.Abs("python")
	require.NoError(t, err)
	py := "env: [PYTHONPATH=" + library + "], run: [" + python(t) + ", -B, " + filepath.Join(library, "tests")
	for name, program := range map[string]string{"C": "run: [" + c, "Python": py + "/timeouts.py"} {
		for _, transport := range []string{"unix", "shm"} {
			t.Run(name+"-"+transport, func(t *testing.T) {
				t.Parallel()
				gate := filepath.Join(t.TempDir(), "gate")
				require.NoError(t, syscall.Mkfifo(gate, 0o600))
				results := cluster(t, fmt.Sprintf(`name: x
clients:
  - {name: director, model: director, with: {frames: 20}}
  - {name: lead, model: render-node, with: {role: controller}}
  - {name: gate, %s/gate.py, '%s']}
  - {name: mine, %s, '%s']}
`, py, gate, program, gate), transport)
				assert.True(t, results["mine"].TimedOut)
				assert.Equal(t, results["lead"].DataHash, results["mine"].DataHash)
				assert.Equal(t, 20, results["mine"].Frames)
			})
		}
	}
}
