package metasim

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

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
	for _, next := range []Instant{At(1), At(14), {Time: 14, Step: math.MaxUint32}, At(15), {Time: 15, Step: math.MaxUint32}, At(16), At(30), Infinity} {
		quiet, helps := helped(next)
		require.Equal(t, Instant{Time: 15, Step: math.MaxUint32}, quiet)
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
		require.Equal(t, Authorize{To: 0, Until: Infinity, QuietUntil: Start}, *e.(*Authorize))
	}
	d.Step(&Advance{Client: 1, Report: Report{Now: At(1), NextEvent: Infinity}})
	require.Equal(t, Infinity, d.quietUntil(&d.clients[0]))
}

// A client that sends to very many has to report whatever it does.
func TestQuietUntilLooksNoFurther(t *testing.T) {
	const crowd = 33
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
