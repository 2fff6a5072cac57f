package export

import (
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/record/journal"
)

// Where a source is far ahead, a walk keeps of what is in flight only the kinds that are wanted, and each of them once.
func TestAWalkKeepsWhatIsWanted(t *testing.T) {
	dir := carryOut(t, parse(t, `name: ahead
clients:
  - {name: source, model: source, with: {channel: A, period: 10us, count: 6000}}
  - {name: echo, model: echo, with: {in: A, out: B}}
  - {name: sink, model: sink, with: {channels: [B]}}
links:
  - {delay: 1s}
`), "mem", 1)
	const inFlight = 6000 // all that the source sends
	for _, c := range []struct {
		name                  string
		kinds                 kindSet
		sends, messages, dues bool
	}{
		{"what was sent", kindsOf(Sent), true, false, true},
		{"what was due", kindsOf(Delivered, Undelivered), false, true, false},
		{"what was lost", kindsOf(Lost), false, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			names, r := opened(t, dir)
			w := newWalk(names, c.kinds, func(o *occurrence) error {
				require.True(t, c.kinds.has(o.Kind), o.Kind)
				return nil
			})
			var sends, messages, dues int
			for {
				entry, err := r.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				require.NoError(t, err)
				require.NoError(t, w.take(&entry))
				nowSends, nowMessages, nowDues := 0, 0, 0
				for i := range w.clients {
					k := &w.clients[i]
					nowSends += k.sent.all.Len()
					nowMessages += k.queue.Len() + k.handled.all.Len() + k.lost.all.Len()
					nowDues += k.dues.Len()
				}
				sends, messages, dues = max(sends, nowSends), max(messages, nowMessages), max(dues, nowDues)
			}
			for i, most := range []int{sends, messages, dues} {
				if []bool{c.sends, c.messages, c.dues}[i] {
					require.Greater(t, most, inFlight/2, "much was in flight")
				} else {
					require.Zero(t, most)
				}
			}
		})
	}
}

// A journal with right checksums in which a client handles what was due earlier than what it has handled is refused, whatever is wanted of it.
func TestAWalkNeverGoesBack(t *testing.T) {
	for _, kinds := range []kindSet{everyKind, kindsOf(Delivered)} {
		w := newWalk([]string{"a", "b"}, kinds, func(*occurrence) error { return nil })
		handle := func(due metasim.Time, acked uint64) error {
			queue := &metasim.Queue{To: 1, Message: metasim.Message{Sent: metasim.At(1), Due: metasim.At(due)}}
			require.NoError(t, w.take(&journal.Entry{Effects: []metasim.Effect{queue}}))
			return w.take(&journal.Entry{Event: &metasim.Advance{Client: 1, Report: metasim.Report{Acked: acked}}})
		}
		require.NoError(t, handle(10, 1))
		require.ErrorContains(t, handle(5, 2), "metasim did not write it, or it was changed")
	}
}
