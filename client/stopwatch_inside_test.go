package client

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// The first report of a client that is asked says something even where it computed nothing, so that whoever reads it knows
// from the beginning that silence means little work. After that little is kept until it is worth saying.
func TestTheFirstLapSaysThatSomebodyMeasures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w stopwatch
		require.Zero(t, w.lap(nil).Computed, "it is off")
		w.start(false, true)
		require.EqualValues(t, 1, w.lap(nil).Computed)
		<-time.After(shortTime - 1)
		require.Zero(t, w.lap(nil).Computed)
		<-time.After(1)
		require.EqualValues(t, shortTime, w.lap(nil).Computed)
	})
}
