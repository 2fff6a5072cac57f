package compare_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/metasim"
	"metasim/record/compare"
	"metasim/record/journal"
)

// An occurrence is one input or output of a client, in words.
type occurrence struct {
	at    metasim.Instant
	text  string
	early bool // a leave before the end of the run
	end   bool // a leave at the end of it
}

// A history is all of a run, read from end to end: the plain twin of an index.
type history struct{ in, out map[string][]occurrence }

func read(t require.TestingT, path string) history {
	dir, err := journal.Open(path)
	require.NoError(t, err)
	m, err := dir.Manifest()
	require.NoError(t, err)
	r, err := dir.OpenJournal(nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	h := history{map[string][]occurrence{}, map[string][]occurrence{}}
	given := map[string][]occurrence{}
	granted := map[metasim.ClientID]metasim.Instant{}
	handled := func(id metasim.ClientID, n uint64) { h.in[m.Clients[id]] = given[m.Clients[id]][:n] }
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) || errors.As(err, new(*journal.TornError)) {
			return h
		}
		require.NoError(t, err)
		switch ev := e.Event.(type) {
		case *metasim.Send:
			name := m.Clients[ev.Client]
			h.out[name] = append(h.out[name], occurrence{at: ev.Sent, text: fmt.Sprintf("%s %q", ev.Channel, ev.Payload)})
		case *metasim.PollWait:
			handled(ev.Client, ev.Acked)
		case *metasim.Leave:
			handled(ev.Client, ev.Acked)
			name := m.Clients[ev.Client]
			h.out[name] = append(h.out[name], occurrence{
				ev.Now, fmt.Sprintf("leaves %d %s", ev.Acked, ev.Result), granted[ev.Client] != metasim.Infinity,
				granted[ev.Client] == metasim.Infinity,
			})
		}
		for _, e := range e.Effects {
			if a, ok := e.(*metasim.Authorize); ok {
				granted[a.To] = a.Until
			}
			if d, ok := e.(*metasim.Deliver); ok {
				name, msg := m.Clients[d.To], d.Message
				given[name] = append(given[name], occurrence{at: msg.Due, text: fmt.Sprintf("%s %v %s %q", m.Clients[msg.From], msg.Sent, msg.Channel, msg.Payload)})
			}
		}
	}
}

// A result is the verdict on two histories; empty and Infinity where they are equal.
type result struct {
	to, culprit string
	at, since   metasim.Instant
}

// A difference is where two lists begin to differ, with what each has there; nil where it has ended.
type difference struct{ a, b *occurrence }

func part(a, b []occurrence) *difference {
	at := func(list []occurrence, i int) *occurrence {
		if i < len(list) {
			return &list[i]
		}
		return nil
	}
	for i := range max(len(a), len(b)) {
		x, y := at(a, i), at(b, i)
		if x == nil || y == nil || x.at != y.at || x.text != y.text {
			return &difference{x, y}
		}
	}
	return nil
}

// at is the earlier of the two: with whole set, a leave at the end of the run counts as that end.
func (p *difference) at(whole bool) metasim.Instant {
	first := metasim.Infinity
	if p == nil {
		return first
	}
	for _, x := range []*occurrence{p.a, p.b} {
		if x != nil && !(whole && x.end) {
			first = metasim.Earlier(first, x.at)
		}
	}
	return first
}

func compareAll(a, b history, names []string) result {
	f := result{at: metasim.Infinity, since: metasim.Infinity}
	var first, culprit, unheard *difference
	for _, name := range names {
		in, out := part(a.in[name], b.in[name]), part(a.out[name], b.out[name])
		if in != nil && (first == nil || in.at(true).Before(first.at(true))) {
			first, f.to = in, name
		}
		if out == nil {
			continue
		}
		if unheard == nil || out.at(true).Before(unheard.at(true)) {
			unheard = out
		}
		left := in != nil && (out.a != nil && out.a.early && in.a == nil || out.b != nil && out.b.early && in.b == nil)
		if out.at(true).Before(in.at(true)) || in == nil || left && !in.at(true).Before(out.at(true)) {
			if culprit == nil || out.at(true).Before(culprit.at(true)) {
				culprit, f.culprit = out, name
			}
		}
	}
	if culprit == nil || first != nil && first.at(true).Before(culprit.at(true)) {
		culprit, f.culprit = nil, ""
	}
	f.since = culprit.at(false)
	if f.at = first.at(false); first == nil {
		f.at = unheard.at(false)
	}
	return f
}

func found(v *compare.Verdict) result {
	f := result{at: metasim.Infinity, since: metasim.Infinity, culprit: v.Culprit}
	if v.First != nil {
		f.to, f.at = v.First.To, metasim.Instant(v.First.At)
	}
	if v.CulpritAt != nil {
		f.since = metasim.Instant(*v.CulpritAt)
	}
	return f
}

// TestTwin compares random worlds, and every result with that of reading all there is.
func TestTwin(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(name string, most int) int { return rapid.IntRange(0, most).Draw(rt, name) }
		a := world{clients: 2 + draw("clients", 5), sends: draw("sends", 600), order: uint64(draw("order", 1000)), seed: 1, size: 8}
		b := a
		b.order++
		b.fault = fault{
			client: a.names()[draw("client", a.clients-1)], after: uint64(draw("after", 60)),
			kind: rapid.SampledFrom([]string{"", "payload", "channel", "extra", "unheard", "missing", "leave"}).Draw(rt, "kind"),
		}
		if draw("seeds", 9) == 0 {
			b.seed++
		}
		dirA, _, _ := a.record(t)
		dirB, done, at := b.record(t)
		v, err := compare.Runs(dirA, dirB, compare.Options{})
		require.NoError(rt, err)
		want := compareAll(read(rt, dirA), read(rt, dirB), a.names())
		if a.seed != b.seed { // all clients know the seed, so that none of them is blamed
			want.culprit, want.since = "", metasim.Infinity
		}
		require.Equal(rt, want, found(v))
		require.Equal(rt, want.at == metasim.Infinity, v.Equal)
		if lazy := b.kind == "leave" && v.Equal; done && !lazy && a.seed == b.seed { // it may have been about to leave
			require.False(rt, v.Equal)
			require.Equal(rt, b.client, v.Culprit)
			require.Equal(rt, at, metasim.Instant(*v.CulpritAt))
		}
		if a.seed != b.seed {
			require.Len(rt, v.Changes, 1)
			require.Equal(rt, "seed: 1, 2", v.Changes[0].String())
			require.Equal(rt, !v.Equal, v.Cause == "scenario")
		}
	})
}
