package export

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/metasim"
	"metasim/record/journal"
)

// at returns the first instant of a nanosecond.
func at(ns int64) metasim.Instant { return metasim.At(metasim.Time(ns)) }

// send is a Send of a client, and its arrival at another one.
func send(from, to metasim.ClientID, seq uint64, sent, due int64) journal.Entry {
	m := metasim.Message{From: from, Seq: seq, Channel: "A", Sent: at(sent), Due: at(due)}
	return journal.Entry{
		Event:   &metasim.Send{Client: from, Channel: "A", Sent: at(sent)},
		Effects: []metasim.Effect{&metasim.Queue{To: to, Message: m}},
	}
}

// polls is a client that has handled so many deliveries and does nothing before next.
func polls(c metasim.ClientID, now, next int64, acked uint64) journal.Entry {
	r := metasim.Report{Now: at(now), NoSendBefore: at(now), NextEvent: at(next), Acked: acked}
	return journal.Entry{Event: &metasim.PollWait{Client: c, Report: r, Want: at(next), Messages: true}}
}

// walkEntries writes the entries into a journal of the clients a and b, and walks it with a reader that takes any entries.
func walkEntries(t require.TestingT, entries ...journal.Entry) (string, error, error) {
	return walkChecked(t, nil, entries...)
}

// walkChecked does so with a reader that checks the entries of these clients.
func walkChecked(t require.TestingT, clients []string, entries ...journal.Entry) (string, error, error) {
	var buf bytes.Buffer
	w := journal.NewWriter(&buf)
	for _, e := range entries {
		require.NoError(t, w.Observe(0, e.Event, e.Effects))
	}
	require.NoError(t, w.Close())
	var said []string
	var last metasim.Instant
	torn, err := walkJournal([]string{"a", "b"}, journal.NewReader(&buf, clients), everyKind, func(o *occurrence) error {
		require.False(t, o.At().Before(last), "time goes back")
		last = o.At()
		said = append(said, o.Kind.String()+" "+last.String())
		return nil
	})
	return strings.Join(said, ", "), torn, err
}

func TestWalkOfEntries(t *testing.T) {
	finish := journal.Entry{Effects: []metasim.Effect{&metasim.Finish{}}}
	said, _, err := walkEntries(t, send(0, 1, 0, 5, 7), send(1, 0, 0, 1, 6), polls(1, 7, 100, 1), finish)
	require.NoError(t, err)
	assert.Equal(t, "sent 1ns, sent 5ns, undelivered 6ns, delivered 7ns", said, "what was not handled was not delivered")

	said, _, err = walkEntries(t, send(0, 1, 0, 5, 7), finish, send(0, 1, 1, 8, 9), polls(1, 9, 100, 2))
	require.NoError(t, err)
	assert.Equal(t, "sent 5ns, undelivered 7ns", said, "nothing counts after the end")

	evil := send(0, 1, 1, 2, 3)
	evil.Effects = []metasim.Effect{&metasim.Evict{Client: 0, Err: &metasim.Violation{Client: "a", Rule: metasim.TimeRegress}}}
	said, _, err = walkEntries(t, send(0, 1, 0, 5, 7), evil)
	require.NoError(t, err)
	assert.Equal(t, "sent 5ns, undelivered 7ns", said, "what broke a rule was not done")

	said, _, err = walkEntries(t, send(0, 1, 0, 5, 7), journal.Entry{Event: &metasim.Leave{Client: 1, Now: at(7), Acked: 1}},
		journal.Entry{Event: &metasim.Leave{Client: 0, Cut: true, Acked: 9}})
	require.NoError(t, err)
	assert.Equal(t, "sent 5ns, delivered 7ns", said, "a client that was cut off reports nothing")

	stop := errors.New("no more")
	var buf bytes.Buffer
	w := journal.NewWriter(&buf)
	require.NoError(t, w.Observe(0, send(0, 1, 0, 5, 7).Event, nil))
	require.NoError(t, w.Close())
	_, err = walkJournal([]string{"a", "b"}, journal.NewReader(&buf, nil), everyKind, func(*occurrence) error { return stop })
	require.ErrorIs(t, err, stop)
	_, err = walkJournal(nil, journal.NewReader(strings.NewReader("something else"), []string{"a", "b"}), everyKind, nil)
	require.ErrorIs(t, err, journal.ErrNotJournal)
}

// A journal that no run can have written is refused, and not put into some order.
func TestWalkRefuses(t *testing.T) {
	_, _, err := walkEntries(t, send(0, 1, 0, 1, 2), polls(1, 2, 3, 3))
	require.ErrorContains(t, err, "handles delivery 3, but the journal has no such delivery")
	_, _, err = walkChecked(t, []string{"a", "b"}, journal.Entry{Event: &metasim.Join{Client: 2}})
	require.ErrorContains(t, err, "not of one run")
	_, torn, err := walkChecked(t, []string{"a", "b"}, send(0, 1, 0, 1, 2))
	require.NoError(t, err)
	require.ErrorContains(t, torn, `client "a" takes part before the run began`)

	// Both promise to send nothing before 1 ms; enough follows for everything before it to be handed on; then one lies.
	liar := []journal.Entry{polls(0, 0, 1_000_000, 0), polls(1, 0, 1_000_000, 0)}
	for i := range uint64(5000) {
		liar = append(liar, send(0, 1, i, 1_000_000, 2_000_000))
	}
	liar = append(liar, send(1, 0, 0, 999_999, 2_000_000))
	_, _, err = walkEntries(t, liar...)
	require.ErrorContains(t, err, `a message of "b" at 999.999us after all clients had promised that everything before 1ms was complete`)
}

// Whatever a journal says, Walk ends, and what it hands on is in order.
func TestWalkOfAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sends := map[metasim.ClientID]uint64{}
		entries := rapid.SliceOf(rapid.Custom(func(t *rapid.T) journal.Entry {
			id := metasim.ClientID(rapid.IntRange(0, 1).Draw(t, "client"))
			ns := rapid.Int64Range(0, 50).Draw(t, "ns")
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				return polls(id, ns, ns+rapid.Int64Range(0, 50).Draw(t, "more"), rapid.Uint64Range(0, 3).Draw(t, "acked"))
			case 1:
				return journal.Entry{Event: &metasim.Promise{Client: id, NoSendBefore: at(ns)}}
			case 2:
				return journal.Entry{Event: &metasim.Leave{Client: id, Acked: rapid.Uint64Range(0, 3).Draw(t, "acked")}}
			}
			sends[id]++
			return send(id, 1-id, sends[id]-1, ns, ns+rapid.Int64Range(0, 9).Draw(t, "delay"))
		})).Draw(t, "entries")
		clear(sends) // shrinking leaves some out
		for i := range entries {
			if s, ok := entries[i].Event.(*metasim.Send); ok {
				entries[i].Effects[0].(*metasim.Queue).Message.Seq = sends[s.Client]
				sends[s.Client]++
			}
		}
		_, _, _ = walkEntries(t, entries...) // it may well be refused
	})
}
