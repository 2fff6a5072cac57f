package journal

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

// TestEntriesThatNoDispatcherMade: each breaks off the journal of a run, though its checksum is right.
func TestEntriesThatNoDispatcherMade(t *testing.T) {
	m := metasim.Message{From: 0, Channel: "A", Sent: metasim.At(1), Due: metasim.At(3)}
	begun := []Entry{
		{Event: &metasim.Join{Client: 0, Publications: []string{"A", "B"}}},
		{Event: &metasim.Join{Client: 1, Subscriptions: []string{"A.*"}}},
		{Event: &metasim.Begin{}},
		{Event: &metasim.Send{Client: 0, Channel: "A", Sent: metasim.At(1)}, Effects: []metasim.Effect{&metasim.Queue{To: 1, Message: m}}},
	}
	given := append(begun[:4:4], Entry{Wall: 5, Effects: []metasim.Effect{
		&metasim.Deliver{To: 1, Number: 1, Message: m}, &metasim.Authorize{To: 1, Until: metasim.At(5)},
	}})
	effect := func(e metasim.Effect) Entry { return Entry{Wall: 5, Effects: []metasim.Effect{e}} }
	event := func(ev metasim.Event) Entry { return Entry{Wall: 5, Event: ev} }
	due := func(at metasim.Time, number uint64) Entry {
		late := m
		late.Due = metasim.At(at)
		return effect(&metasim.Deliver{To: 1, Number: number, Message: late})
	}
	poll := func(now metasim.Time, acked uint64) Entry {
		return event(&metasim.PollWait{Client: 1, Report: metasim.Report{Now: metasim.At(now), Acked: acked}})
	}
	for _, c := range []refusal{
		{"written 4 ns after the run began, and the one before it at 5 ns", given, []Entry{{Wall: 4, Event: &metasim.Permit{}}}},
		{"written 1152921504606846977 ns after", given, []Entry{{Wall: 1<<60 + 1, Event: &metasim.Permit{}}}},
		{`"a" joins, but it has joined before`, begun, []Entry{event(&metasim.Join{Client: 0})}},
		{`"a" takes part before the run began`, nil, []Entry{event(&metasim.Send{Client: 0})}},
		{`"b" takes part before the run began, or after it had left`, given, []Entry{event(&metasim.Leave{Client: 1}), poll(9, 0)}},
		{`"a" sends on "C", which it does not publish`, begun, []Entry{event(&metasim.Send{Client: 0, Channel: "C", Sent: metasim.At(2)})}},
		{`"a" is at 0s after it was at 1ns`, begun, []Entry{event(&metasim.Send{Client: 0, Channel: "A"})}},
		{`"b" handles delivery 2, but it has handled 0 and was given 1`, given, []Entry{poll(3, 2)}},
		{`"b" handles delivery 0, but it has handled 1 and was given 1`, given, []Entry{poll(3, 1), poll(4, 0)}},
		{`sent at 1ns, is due for "b" at 1ns`, begun[:3], []Entry{{Event: begun[3].Event, Effects: []metasim.Effect{&metasim.Queue{
			To: 1, Message: metasim.Message{Channel: "A", Sent: metasim.At(1), Due: metasim.At(1)}}}}}},
		{`"b" is given delivery 2 after delivery 0`, begun, []Entry{due(3, 2)}},
		{`"b" is given a message that is due at forever`, begun, []Entry{due(metasim.Forever, 1)}},
		{`"b" is authorized up to 3ns, after`, begun, []Entry{due(3, 1), effect(&metasim.Authorize{To: 1, Until: metasim.At(3)})}},
		{`"b" is authorized up to 4ns, after`, given, []Entry{effect(&metasim.Authorize{To: 1, Until: metasim.At(4)})}},
		{`"b" is evicted, but the rule that it broke is missing`, begun, []Entry{effect(&metasim.Evict{Client: 1})}},
		{"", given, []Entry{poll(3, 1), event(&metasim.Leave{Client: 1, Now: metasim.At(3), Acked: 1}), effect(&metasim.Finish{}), poll(1, 7)}},
		{"", given, []Entry{{Wall: 5, Event: &metasim.Send{Client: 0}, Effects: []metasim.Effect{ // refused
			&metasim.Evict{Client: 0, Err: &metasim.Violation{Rule: metasim.TimeRegress}}}}}},
	} {
		c.check(t)
	}
	hears := []Entry{{Event: &metasim.Send{Client: 0, Channel: "B", Sent: metasim.At(1)},
		Effects: []metasim.Effect{&metasim.Queue{To: 1, Message: m}}}, due(3, 1)}
	refusal{`"b" is given a message on "B", to which it does not subscribe`, begun[:3], hears}.check(t)
}

// A refusal is what is said of the last of some entries; nothing if they are good.
type refusal struct {
	says            string
	before, entries []Entry
}

func (c refusal) check(t *testing.T) {
	b := write(t, append(c.before[:len(c.before):len(c.before)], c.entries...)...)
	r := NewReader(bytes.NewReader(b), []string{"a", "b"})
	n, err := 0, error(nil)
	for ; err == nil; n++ {
		_, err = r.Next()
	}
	if c.says == "" {
		require.ErrorIs(t, err, io.EOF)
		return
	}
	var torn *TornError
	require.ErrorAs(t, err, &torn, c.says)
	require.Contains(t, torn.Reason, c.says)
	require.EqualValues(t, len(c.before)+len(c.entries)-1, torn.Records)
	require.EqualValues(t, n-1, torn.Records, "every entry before it is read")
	_, again := r.Next()
	require.Equal(t, err, again)
	require.False(t, errors.Is(err, io.EOF))
}
