package export

import (
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/record/journal"
)

// Where one client is far ahead of another, a walk keeps of what is in flight only the kinds that are wanted, and each of them once.
func TestAWalkKeepsWhatIsWanted(t *testing.T) {
	const sent, lost = 5000, 50 // more than minAdded, so that the walk looks for a horizon meanwhile
	var entries []journal.Entry
	for i := range uint64(sent) {
		e := send(0, 1, i, int64(i), 1_000_000+int64(i))
		if i%(sent/lost) == 0 {
			e.Effects = []metasim.Effect{&metasim.Lose{To: 1, Message: e.Effects[0].(*metasim.Queue).Message}}
		}
		entries = append(entries, e)
	}
	entries = append(entries, polls(1, 2_000_000, 2_000_000, sent-lost)) // until now it has said nothing, so everything is in flight
	for _, c := range []struct {
		name                         string
		kinds                        kindSet
		sends, messages, dues, tells int
	}{
		{"everything", everyKind, sent, sent, 0, 2 * sent},
		{"what was sent", kindsOf(Sent), sent, 0, sent - lost, sent},
		{"what was due", kindsOf(Delivered, Undelivered), 0, sent - lost, 0, sent - lost},
		{"what was lost", kindsOf(Lost), 0, lost, sent - lost, lost},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sends, messages, dues, tells int
			w := newWalk([]string{"a", "b"}, c.kinds, func(o *occurrence) error {
				require.True(t, c.kinds.has(o.Kind), o.Kind)
				tells++
				return nil
			})
			for i := range entries {
				require.NoError(t, w.take(&entries[i]))
				nowSends, nowMessages, nowDues := 0, 0, 0
				for i := range w.clients {
					k := &w.clients[i]
					nowSends += k.sent.all.Len()
					nowMessages += k.queue.Len() + k.handled.all.Len() + k.lost.all.Len()
					nowDues += k.dues.Len()
				}
				sends, messages, dues = max(sends, nowSends), max(messages, nowMessages), max(dues, nowDues)
			}
			require.NoError(t, w.emit(metasim.Infinity, true))
			require.Equal(t, []int{c.sends, c.messages, c.dues, c.tells}, []int{sends, messages, dues, tells})
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
