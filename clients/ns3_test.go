package clients_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A simulator that nobody here wrote: ns-3 is the network between two robots. Real ns-3 nodes carry the bytes, and the run is the same each time and
// over each transport.
func TestNS3(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/usr/include/ns3/core-module.h"); err != nil {
		t.Skip("SKIPPED LOUDLY: there is no ns-3, so it was not tried as a client; install libns3-dev")
	}
	compiler(t, "g++")
	text, err := os.ReadFile("../scenarios/ns3/robots.metasim.yaml")
	require.NoError(t, err)
	script, err := filepath.Abs("../scenarios/ns3/network.sh")
	require.NoError(t, err)
	scenario := strings.ReplaceAll(string(text), "[./network.sh]", "["+script+"], env: [NS3_NETWORK="+filepath.Join(t.TempDir(), "network")+"]")
	require.NotEqual(t, string(text), scenario)
	first := carryOut(t, scenario, "unix")
	for _, transport := range []string{"unix", "tcp", "shm"} {
		require.Equal(t, first, carryOut(t, scenario, transport), transport)
	}
	require.NotEqual(t, first, carryOut(t, strings.ReplaceAll(scenario, "seed: 7", "seed: 8"), "unix"), "ns-3 loses other packets")
}
