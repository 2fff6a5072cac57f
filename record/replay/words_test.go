package replay

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/record/journal"
)

// Every event and every effect has words of its own.
func TestWords(t *testing.T) {
	w := words{[]string{"a", "b"}}
	at := metasim.At(metasim.Millisecond)
	report := metasim.Report{Now: at}
	m := metasim.Message{From: 1, Seq: 3, Channel: "X", Sent: at, Due: at.Add(1)}
	events := []metasim.Event{
		nil, &metasim.Join{}, &metasim.Begin{}, &metasim.Send{Channel: "X", Sent: at}, &metasim.Promise{NoSendBefore: at},
		&metasim.Advance{Report: report}, &metasim.PollWait{Report: report, Want: at}, &metasim.Leave{Now: at}, &metasim.Leave{Cut: true},
		&metasim.Permit{Until: at}, &metasim.Credit{Until: at},
	}
	effects := []metasim.Effect{
		&metasim.Queue{Message: m}, &metasim.Lose{Message: m}, &metasim.Deliver{To: 7, Number: 2, Message: m}, &metasim.Authorize{Until: at},
		&metasim.Evict{Err: &metasim.Violation{Rule: metasim.AfterLeave, Client: "a"}}, &metasim.Reached{Until: at, Next: at},
		&metasim.Finish{}, &metasim.Finish{Err: errors.New("it broke")},
	}
	seen := map[string]bool{}
	for i, ev := range events {
		text := w.entry(uint64(i+1), &journal.Entry{Event: ev}, 0)
		require.True(t, strings.HasPrefix(text, fmt.Sprintf("effect 1 of entry %d (0s after the run began, ", i+1)), text)
		require.False(t, seen[w.event(ev)], text)
		seen[w.event(ev)] = true
	}
	for i := range effects {
		require.False(t, seen[w.effect(effects, i)], w.effect(effects, i))
		seen[w.effect(effects, i)] = true
	}
	require.Equal(t, "nothing more follows", w.effect(effects, len(effects)))
	require.Equal(t, `message 3 of "b" on "X", sent at 1ms, is delivered to client 7 as number 2, due 1.000001ms`, w.effect(effects, 2))
}
