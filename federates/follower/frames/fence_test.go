package frames

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

// A frame without a send stays missing where the one before it is asked for again, as its controller has lied: nodes that show that one in a later epoch go on behind it.
func TestAMissingFrameBehindALie(t *testing.T) {
	nodes := four()
	nodes[0].fails, nodes[0].how, nodes[0].skips = 7, "nothing", 8
	cfg := config(20)
	cfg.Bounded, cfg.Patience = 3, 100*ms
	c := newCluster(t, cfg, nodes...)
	c.delay = func(string, string) metasim.Time { return 0 }
	c.run()
	require.True(t, c.director.Over())
	assert.Len(t, c.director.Totals.Failed, 1)
	assert.Empty(t, c.director.Totals.Stopped)
	assert.EqualValues(t, 1, c.director.Totals.Missing)
	for _, n := range nodes[1:] {
		c.agree(n)
		missing := new(MissingError)
		require.ErrorAs(t, n.errs[0], &missing)
		assert.EqualValues(t, 8, missing.Frame)
	}
}
