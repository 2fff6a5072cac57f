package clients_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// What cannot be is refused in Python with who, what and what to write instead, and nothing is sent or waited for. A call of a second thread is refused while the
// first one waits, and the wait goes on.
func TestMistakesInPython(t *testing.T) {
	t.Parallel()
	library, err := filepath.Abs("python")
	require.NoError(t, err)
	gate := filepath.Join(t.TempDir(), "gate")
	require.NoError(t, syscall.Mkfifo(gate, 0o600))
	program := func(name string) string {
		return fmt.Sprintf("env: [PYTHONPATH=%s], run: [%s, -B, %s, '%s']", library, python(t), filepath.Join(library, "tests", name), gate)
	}
	out, _ := carriedOut(t, fmt.Sprintf(`name: x
until: 50ms
clients:
  - {name: mine, %s}
  - {name: gate, %s}
  - {name: display, model: sink, with: {channels: [OUT]}}
`, program("mistakes.py"), program("gate.py")), "unix")
	require.True(t, out.OK, out.Error)
	const (
		whole  = "; for half a second write 500_000_000, and int(...) around what is computed"
		encode = ": a payload is bytes, what is like bytes, or text; encode it, as with struct.pack or json.dumps"
		failed = `client "mine" has failed: no reason`
		thread = `client "mine": another thread waits with this client; use a client in one thread, and give the others what they need by a queue`
	)
	want := []string{
		`client "mine": the time of a step is a whole number of nanoseconds, and 0.5 is none` + whole,
		`client "mine": the limit of next is a whole number of nanoseconds, and '5ms' is none` + whole,
		`client "mine": the period of steps is a whole number of nanoseconds, and 1000000.0 is none` + whole,
		`client "mine": a promise is a whole number of nanoseconds, and None is none` + whole,
		`client "mine": the time limit of a request to service "GAIN" is a whole number of nanoseconds, and 0.1 is none` + whole,
		`client "mine" publishes 5 on "OUT"` + encode,
		`client "mine" publishes [1, 2, 3] on "OUT"` + encode,
		`client "mine" publishes 5 on "call:GAIN"` + encode,
		`client "mine": a publication is the text of a name, and 5 is none; write it in quotes`,
		`client "mine": a subscription is the text of a name, and None is none; write it in quotes`,
		`client "mine": a service is the text of a name, and 1 is none; write it in quotes`,
		`client "mine": the reaction time is a whole number of nanoseconds, and 0.5 is none` + whole,
		`client "mine": the role of a node is 'boss'; use "follower", "understudy" or "controller"`,
		failed, failed,
		`client "mine" has waited for as long as it wanted, at 0.000000000 s; call next again`,
		thread, thread, thread,
	}
	for _, c := range out.Clients {
		var said []string
		switch c.Name {
		case "mine":
			require.NoError(t, json.Unmarshal(c.Result, &said))
			require.Equal(t, want, said)
		case "display":
			require.JSONEq(t, `{"received":1,"bytes":5}`, string(c.Result)) // nothing that was refused was sent
		}
	}
}
