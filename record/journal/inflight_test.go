package journal

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/metasim"
)

// A plainInFlight does what inFlight does with a map of copies, and forgets everything at once.
type plainInFlight struct {
	messages map[ref]metasim.Message
	copies   map[ref]map[metasim.ClientID]int
	left     map[metasim.ClientID]bool
}

func (b *plainInFlight) queue(to metasim.ClientID, r ref) (metasim.Message, bool) {
	m, known := b.messages[r]
	if known && !b.left[to] {
		b.copies[r][to]++
	}
	return m, known
}

func (b *plainInFlight) take(to metasim.ClientID, r ref) (m metasim.Message, known, taken bool) {
	m, known = b.messages[r]
	if taken = b.copies[r][to] > 0; taken {
		if b.copies[r][to]--; b.copies[r][to] == 0 {
			delete(b.copies[r], to)
		}
	}
	return m, known, taken
}

// drop forgets what is not queued, unless it may still be queued in this entry.
func (b *plainInFlight) drop(but ref, spared bool) {
	for r := range b.messages {
		if len(b.copies[r]) == 0 && !(spared && r == but) {
			delete(b.messages, r)
			delete(b.copies, r)
		}
	}
}

// Both find the same messages, and inFlight holds at most twice as many copies as it must.
func TestInFlightIsPlainInFlight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newInFlight()
		plain := plainInFlight{map[ref]metasim.Message{}, map[ref]map[metasim.ClientID]int{}, map[metasim.ClientID]bool{}}
		client := rapid.Map(rapid.Uint32Range(0, 5), func(n uint32) metasim.ClientID { return metasim.ClientID(n) })
		var sent []ref
		for range rapid.IntRange(1, 60).Draw(t, "entries") {
			var ev metasim.Event
			var fresh ref
			sends := rapid.Bool().Draw(t, "sends")
			if sends {
				from := client.Draw(t, "from")
				send := &metasim.Send{Client: from, Payload: fmt.Append(nil, len(sent))}
				fresh = ref{from, b.sends[from]}
				b.send(send)
				sent = append(sent, fresh)
				plain.messages[fresh] = metasim.Message{From: from, Seq: fresh.seq, Payload: send.Payload}
				plain.copies[fresh] = map[metasim.ClientID]int{}
				ev = send
			} else if rapid.IntRange(0, 5).Draw(t, "leaves") == 0 {
				ev = &metasim.Leave{Client: client.Draw(t, "leaver")}
			}
			for range rapid.IntRange(0, 8).Draw(t, "effects") {
				r := ref{client.Draw(t, "of"), rapid.Uint64Range(0, 300).Draw(t, "seq")}
				if len(sent) > 0 && rapid.IntRange(0, 9).Draw(t, "known") > 0 {
					r = rapid.SampledFrom(sent).Draw(t, "message")
				}
				compare(t, &b, &plain, client.Draw(t, "to"), r, sends && r == fresh)
				plain.drop(fresh, sends)
			}
			b.endEntry(ev)
			if leave, ok := ev.(*metasim.Leave); ok {
				plain.left[leave.Client] = true
				for _, copies := range plain.copies {
					delete(copies, leave.Client)
				}
			}
			plain.drop(fresh, false)
			holds(t, &b, &plain)
		}
	})
}

// compare does the same with both. What is only there until the next sweep may be named once more.
func compare(t *rapid.T, b *inFlight, plain *plainInFlight, to metasim.ClientID, r ref, fresh bool) {
	if _, known := plain.messages[r]; !known && b.find(r) != nil {
		for _, o := range b.find(r).copies {
			require.True(t, plain.left[o.to])
		}
		return
	}
	switch rapid.IntRange(0, 2).Draw(t, "effect") {
	case 0:
		m, err := b.queue(to, r)
		want, known := plain.queue(to, r)
		same(t, want, known, m, err)
	case 1:
		m, err := b.deliver(to, r)
		want, _, taken := plain.take(to, r)
		if !taken {
			want = metasim.Message{}
		}
		same(t, want, taken, m, err)
	default:
		m, err := b.lose(to, r)
		want, known := plain.messages[r]
		if !fresh {
			want, known, _ = plain.take(to, r)
		}
		same(t, want, known, m, err)
	}
}

func same(t *rapid.T, want metasim.Message, known bool, got metasim.Message, err error) {
	require.Equal(t, known, err == nil, err)
	require.Equal(t, want, got)
}

func holds(t *rapid.T, b *inFlight, plain *plainInFlight) {
	needed, all := 0, 0
	for r := range plain.messages {
		require.NotNil(t, b.find(r), "%v is forgotten too soon", r)
		for _, n := range plain.copies[r] {
			needed += n
		}
	}
	for _, p := range b.pages {
		for _, k := range p.messages {
			if k != nil {
				for _, o := range k.copies {
					all += int(o.n)
				}
			}
		}
	}
	require.Equal(t, needed, b.total)
	require.LessOrEqual(t, all, 2*needed)
}
