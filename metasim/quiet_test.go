package metasim

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// sentBefore is the inverse of Add: the last instant that does not lead beyond, and no other.
func TestSentBeforeIsTheInverseOfAdd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		i := Instant{Time(rapid.Int64Range(0, 50).Draw(t, "time")), rapid.Uint32Range(0, 3).Draw(t, "step")}
		d := Time(rapid.Int64Range(0, 60).Draw(t, "delay"))
		x := i.sentBefore(d)
		if x == Start && i.Before(Start.Add(d)) {
			return // nothing leads there
		}
		require.False(t, i.Before(x.Add(d)), "%v leads beyond", x)
		next := Instant{x.Time, x.Step + 1}
		if x.Step == math.MaxUint32 {
			next = At(x.Time + 1)
		}
		require.True(t, i.Before(next.Add(d)), "%v leads no further", next)
	})
	require.Equal(t, Infinity, Infinity.sentBefore(5))
}

// A waits for 20, B runs ahead, and A hears B after 5: a report of B lets A go on exactly where B's next event lies beyond
// the threshold.
func TestQuietUntilIsWhereAReportHelps(t *testing.T) {
	helped := func(next Instant) (quiet Instant, helps bool) {
		d := pair(t, 5) // what 0 publishes reaches 1
		d.Step(&PollWait{Client: 1, Report: Report{NextEvent: At(20)}, Want: At(20), Messages: true})
		d.Step(&PollWait{Client: 0, Report: Report{}, Want: At(1)})
		for _, e := range d.Settle() {
			if a := e.(*Authorize); a.To == 0 {
				quiet = a.QuietUntil
			}
		}
		d.Step(&Advance{Client: 0, Report: Report{Now: At(1), NoSendBefore: At(1), NextEvent: next}})
		for _, e := range d.Settle() {
			a, ok := e.(*Authorize)
			helps = helps || ok && a.To == 1 && At(20).Before(a.Until)
		}
		return quiet, helps
	}
	for _, next := range []Instant{At(1), At(14), {14, math.MaxUint32}, At(15), {15, math.MaxUint32}, At(16), At(30), Infinity} {
		quiet, helps := helped(next)
		require.Equal(t, Instant{15, math.MaxUint32}, quiet)
		require.Equal(t, quiet.Before(next), helps, "a next event at %v", next)
	}
}

// Nobody waits: there is no need of reports.
func TestQuietWhereNobodyWaits(t *testing.T) {
	d := pair(t, 5)
	d.Step(&PollWait{Client: 1, Report: Report{NextEvent: At(1)}, Want: At(1)})
	d.Step(&PollWait{Client: 0, Report: Report{}, Want: At(10)})
	for _, e := range d.Settle() {
		if a := e.(*Authorize); a.To == 1 {
			continue
		}
		require.Equal(t, Authorize{To: 0, Until: Infinity, QuietUntil: At(1).sentBefore(5)}, *e.(*Authorize))
	}
	d.Step(&Advance{Client: 1, Report: Report{Now: At(1), NextEvent: Infinity}})
	require.Equal(t, Infinity, d.quietUntil(&d.clients[0]))
}

// Who sends to a crowd is not to count it: he reports.
func TestQuietUntilLooksNoFurther(t *testing.T) {
	const crowd = maxNeighbours + 1
	names := []string{"a"}
	for i := range crowd {
		names = append(names, "b"+string(rune('0'+i)))
	}
	d, err := New(Config{Clients: names, Delays: apart(5)})
	require.NoError(t, err)
	d.Step(&Join{Client: 0, Publications: []string{"X"}})
	for i := range crowd {
		d.Step(&Join{Client: ClientID(i + 1), Subscriptions: []string{"X"}})
	}
	d.Step(&Begin{})
	require.Equal(t, Start, d.quietUntil(&d.clients[0]))
}
