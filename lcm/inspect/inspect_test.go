package inspect_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"metasim/lcm"
	"metasim/lcm/inspect"
	"metasim/lcm/types"
)

// known are types as a file of somebody has them.
func known(t *testing.T) *types.Set {
	t.Helper()
	set, err := types.Load()
	require.NoError(t, err)
	return set
}

func eventLog(t *testing.T, events ...lcm.Event) []byte {
	t.Helper()
	var b bytes.Buffer
	w := lcm.NewWriter(&b)
	for i, ev := range events {
		ev.Number = int64(i)
		require.NoError(t, w.Write(ev))
	}
	return b.Bytes()
}

var odd = []lcm.Event{
	{Time: 5_000_000, Channel: "A B", Payload: []byte("12345678")},
	{Time: 3_000_000, Channel: "\xff", Payload: []byte("y")},
	{Time: 4_000_000, Channel: "C"},
}

func TestSummarize(t *testing.T) {
	s, check, err := inspect.Summarize("x", bytes.NewReader(eventLog(t, odd...)), known(t))
	require.NoError(t, err)
	require.NoError(t, check.Damage("x"))
	require.Equal(t, [3]int64{3_000_000, 5_000_000, 9}, [3]int64{s.First, s.Last, s.Bytes})
	require.Len(t, s.Channels, 3)
	var text strings.Builder
	require.NoError(t, s.WriteText(&text))
	require.Contains(t, text.String(), `"A B"`)
	require.Contains(t, text.String(), "3132333435363738")
	require.Contains(t, text.String(), "time goes back: 2 of 3 events are stamped earlier than one before them, by up to 2s")
}

func TestPrint(t *testing.T) {
	log := eventLog(t, odd...)
	var text strings.Builder
	p, err := inspect.Print(&text, bytes.NewReader(log), inspect.PrintOptions{Types: known(t)})
	require.NoError(t, err)
	require.Zero(t, p.Bad)
	require.Equal(t, "5.000000 \"A B\" 3132333435363738\n3.000000 \"\\xff\" 79\n4.000000 C (empty)\n", text.String())
	text.Reset()
	_, err = inspect.Print(&text, bytes.NewReader(log), inspect.PrintOptions{JSON: true, Types: known(t), Channels: "C"})
	require.NoError(t, err)
	require.Equal(t, `{"number":2,"time_us":4000000,"channel":"C","size":0,"hex":""}`+"\n", text.String())
}

func TestDamage(t *testing.T) {
	log := eventLog(t, odd...)
	check, err := inspect.Print(&bytes.Buffer{}, bytes.NewReader(log[:len(log)-1]), inspect.PrintOptions{Types: known(t)})
	require.NoError(t, err)
	var d *inspect.DamageError
	require.ErrorAs(t, check.Damage("x"), &d)
	require.False(t, d.Empty)
	require.ErrorContains(t, d, "x is damaged: it ends inside the event at byte ")
	_, none, err := inspect.Summarize("x", strings.NewReader("this is no log, and not at all short"), known(t))
	require.NoError(t, err)
	require.ErrorAs(t, none.Damage("x"), &d)
	require.True(t, d.Empty)
	require.ErrorContains(t, d, "x is no event log of LCM")
	broken := errors.New("broken")
	_, _, err = inspect.Summarize("x", iotest.ErrReader(broken), known(t))
	require.ErrorIs(t, err, broken)
}
