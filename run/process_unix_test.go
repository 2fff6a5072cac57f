//go:build unix

package run_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A process that leaves and then does not end is ended, also if it does not want to; the run went well.
func TestStubborn(t *testing.T) {
	t.Parallel()
	sc := parse(t, `name: stubborn
clients:
  - name: s
    run: [BIN]
    env: [TEST_PROGRAM=stubborn]
  - {name: t, model: sink, with: {channels: [".*"]}}
`)
	o := options(t, "mem")
	o.Patience = 20 * time.Millisecond
	log, text := logger()
	o.Log = log
	out := carryOut(t, sc, o)
	require.Equal(t, "left", out.Clients[0].Exit)
	require.Contains(t, text.String(), "had to be ended after its client left")
	require.Contains(t, text.String(), "client=s")
}
