package export

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/record"
	"metasim/record/journal"
	"metasim/scenarios"
)

const everyKind = ^kindSet(0)

// walked returns what Walk makes of a run's directory.
func walked(t testing.TB, dir string) []occurrence {
	t.Helper()
	names, r := opened(t, dir)
	var all []occurrence
	torn, err := walkJournal(names, r, everyKind, func(o *occurrence) error {
		if o.Kind != Undelivered { // see TestMessages
			all = append(all, *o)
		}
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, torn)
	return all
}

// opened opens a run's directory.
func opened(t testing.TB, dir string) ([]string, *journal.Reader) {
	t.Helper()
	d, err := journal.Open(dir)
	require.NoError(t, err)
	m, err := d.Manifest()
	require.NoError(t, err)
	r, err := d.OpenJournal(m.Clients)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return m.Clients, r
}

// expected is what occurred in a run by another account: everything is gathered, and sorted in the end.
func expected(t testing.TB, dir string) []occurrence {
	t.Helper()
	l, err := record.ReadLog(dir)
	require.NoError(t, err)
	id := map[string]metasim.ClientID{}
	for i, name := range l.Run.Manifest.Clients {
		id[name] = metasim.ClientID(i)
	}
	var all []occurrence
	for _, p := range l.Messages {
		m := metasim.Message{From: id[p.From], Seq: p.Seq, Channel: p.Channel, Sent: metasim.Instant(p.Sent)}
		if len(p.Payload) > 0 {
			m.Payload = p.Payload
		}
		switch {
		case p.Due == nil:
			all = append(all, occurrence{Kind: Lost, To: id[p.To], Message: m})
		case !p.Undelivered:
			m.Due = metasim.Instant(*p.Due)
			all = append(all, occurrence{Kind: Delivered, To: id[p.To], Message: m})
		}
	}
	all = append(all, sends(t, dir)...)
	slices.SortStableFunc(all, func(a, b occurrence) int {
		at := func(o occurrence) metasim.Instant {
			if o.Kind == Delivered {
				return o.Message.Due
			}
			return o.Message.Sent
		}
		to := func(o occurrence) metasim.ClientID {
			if o.Kind == Delivered {
				return o.To
			}
			return 0
		}
		return cmp.Or(at(a).Compare(at(b)), cmp.Compare(a.Kind, b.Kind), cmp.Compare(to(a), to(b)),
			a.Message.Sent.Compare(b.Message.Sent), cmp.Compare(a.Message.From, b.Message.From),
			cmp.Compare(a.Message.Seq, b.Message.Seq), cmp.Compare(a.To, b.To))
	})
	return all
}

// sends reads every Send of a journal, in its order.
func sends(t testing.TB, dir string) (all []occurrence) {
	t.Helper()
	names, r := opened(t, dir)
	count := make([]uint64, len(names))
	for {
		e, err := r.Next()
		if err != nil {
			return all
		}
		if s, ok := e.Event.(*metasim.Send); ok {
			all = append(all, occurrence{Kind: Sent, Message: metasim.Message{
				From: s.Client, Seq: count[s.Client], Channel: s.Channel, Sent: s.Sent, Payload: s.Payload,
			}})
			count[s.Client]++
		}
	}
}

// What is put into order while it is read is what would be if all of it was gathered first.
func TestWalkIsInOrder(t *testing.T) {
	scenes := map[string]*scenarios.Scenario{"mixed": parse(t, mixed)}
	for _, name := range []string{"ping-pong", "ring", "star", "cart-pole", "lcmlog-replay", "phold"} {
		scenes[name] = shipped(t, name)
	}
	scenes["cart-pole"].Until = 3 * metasim.Second // of twenty, which show no more
	for name, sc := range scenes {
		t.Run(name, func(t *testing.T) {
			dir := carryOut(t, sc, "mem", 2)
			got := walked(t, dir)
			want := expected(t, dir)
			require.Equal(t, len(want), len(got))
			for i := range want {
				require.Equal(t, want[i], got[i], "occurrence %d", i)
			}
		})
	}
}
