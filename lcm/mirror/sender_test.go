package mirror

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/lcm/types"
	"metasim/metasim"
)

var example = message{
	kind: delivered, to: 1, Message: metasim.Message{
		From: 0, Seq: 7, Channel: "PING", Payload: []byte("payload"),
		Sent: metasim.Instant{Time: 5, Step: 2}, Due: metasim.Instant{Time: 1 << 40, Step: 1<<32 - 1},
	},
}

// TestTheCompanionIsWhatItsFileSays decodes a companion by event_t.lcm.
func TestTheCompanionIsWhatItsFileSays(t *testing.T) {
	set, err := types.Load("event_t.lcm")
	require.NoError(t, err)
	event := set.Lookup("metasim.event_t")
	require.NotNil(t, event)
	b := appendEvent(nil, &example, "pinger", "ponger")
	require.Equal(t, []*types.Type{event}, set.Of(b), "the fingerprint is that of the file")
	text, err := event.AppendJSON(nil, b)
	require.NoError(t, err)
	assert.JSONEq(t, `{"kind": 2, "sender": "pinger", "recipient": "ponger", "channel": "PING", "sequence": 7,
		"sent_time": 5, "sent_step": 2, "due_time": 1099511627776, "due_step": 4294967295,
		"payload_size": 7, "payload_hash": 2566869188507809735}`, string(text))
}

// TestLcmGenReadsTheCompanion compiles what lcm-gen makes of event_t.lcm, and decodes a companion with it.
func TestLcmGenReadsTheCompanion(t *testing.T) {
	for _, p := range []string{"gcc", "lcm-gen"} {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("SKIPPED LOUDLY: no %s here; apt-get install liblcm-bin liblcm-dev gcc libc6-dev", p)
		}
	}
	dir := t.TempDir()
	tool := func(name string, args ...string) {
		out, err := exec.Command(name, args...).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	tool("lcm-gen", "-c", "--c-cpath", dir, "--c-hpath", dir, "event_t.lcm")
	decode := filepath.Join(dir, "decode")
	tool("gcc", "-I", dir, "-o", decode, "testdata/decode.c", filepath.Join(dir, "metasim_event_t.c"), "-llcm")
	cmd := exec.Command(decode)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(appendEvent(nil, &example, "pinger", "ponger")), os.Stderr
	out, err := cmd.Output()
	require.NoError(t, err)
	assert.Equal(t, "2 pinger ponger PING 7 5+2 1099511627776+4294967295 7 239f59ed55e737c7\n", string(out))
}
