package supervisor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Only an answer counts of which it is known which beat it answers, and the fastest one does.
func TestTrips(t *testing.T) {
	at := func(ms int) time.Time { return time.Time{}.Add(time.Hour + time.Duration(ms)*time.Millisecond) }
	var k trips
	require.Zero(t, k.roundTrip())
	k.asked(at(0))
	require.Zero(t, k.roundTrip(), "nothing was answered")
	k.answered(at(9))
	require.Equal(t, 9*time.Millisecond, k.roundTrip())
	k.asked(at(10))
	k.asked(at(20))
	k.answered(at(21)) // of the first one
	k.answered(at(22))
	require.Equal(t, 9*time.Millisecond, k.roundTrip())
	k.asked(at(30))
	k.answered(at(34))
	k.asked(at(40))
	k.answered(at(46))
	require.Equal(t, 4*time.Millisecond, k.roundTrip())
}
