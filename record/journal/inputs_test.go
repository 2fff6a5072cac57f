package journal

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

// TestInputsAreTheEvents: a reader of inputs gives the events of each entry, and its effects as bytes, which only the same effects match.
func TestInputsAreTheEvents(t *testing.T) {
	config := metasim.Config{Clients: []string{"a", "b", "c"}, Delays: rough{}, Until: 1000}
	var buf bytes.Buffer
	w := NewWriter(&buf)
	drive(t, config, func(ev metasim.Event, effs []metasim.Effect) { require.NoError(t, w.Observe(0, ev, effs)) })
	require.NoError(t, w.Close())
	entries, err := read(buf.Bytes())
	require.NoError(t, err)
	inputs := newInputs(&buf, config.Clients)
	var m Matcher
	compared := 0
	for _, e := range entries {
		in, err := inputs.Next()
		require.NoError(t, err)
		require.Equal(t, e.Wall, in.Wall)
		require.Equal(t, e.Event, in.Event)
		require.Nil(t, in.Effects)
		missing, same := m.Missing(inputs.Recorded(), e.Effects)
		require.True(t, same)
		require.Empty(t, missing)
		for n := range e.Effects {
			compared++
			_, same = m.Missing(inputs.Recorded(), e.Effects[:n])
			require.False(t, same, "one that was recorded is not there")
		}
		if len(e.Effects) == 0 {
			continue
		}
		more := append(e.Effects[:len(e.Effects):len(e.Effects)], &metasim.Authorize{To: 1})
		missing, same = m.Missing(inputs.Recorded(), more)
		require.True(t, same)
		require.Equal(t, more[len(more)-1:], missing)
		if queued, ok := e.Effects[0].(*metasim.Queue); ok {
			other := *queued
			other.Message.Due.Time++
			_, same = m.Missing(inputs.Recorded(), append([]metasim.Effect{&other}, e.Effects[1:]...))
			require.False(t, same, "another one was recorded")
		}
	}
	require.Greater(t, compared, 1000)
	_, err = inputs.Next()
	require.ErrorIs(t, err, io.EOF)
}

// TestInputsOfASplitEntry: the effects of an entry may be in several records, and those of the last may be missing.
func TestInputsOfASplitEntry(t *testing.T) {
	send := Entry{Event: &metasim.Send{Channel: "X", Payload: []byte("to all")}}
	for id := range metasim.ClientID(250_000) {
		send.Effects = append(send.Effects, &metasim.Queue{To: id, Message: metasim.Message{Channel: "X", Payload: []byte("to all"), Due: metasim.At(7)}})
	}
	journal := write(t, send)
	require.Greater(t, records(t, journal), 2)
	var m Matcher
	inputs := newInputs(bytes.NewReader(journal), nil)
	_, err := inputs.Next()
	require.NoError(t, err)
	missing, same := m.Missing(inputs.Recorded(), send.Effects)
	require.True(t, same)
	require.Empty(t, missing)
	inputs = newInputs(bytes.NewReader(journal[:len(journal)-1]), nil)
	_, err = inputs.Next()
	require.NoError(t, err)
	missing, same = m.Missing(inputs.Recorded(), send.Effects)
	require.True(t, same)
	require.NotEmpty(t, missing)
	require.Less(t, len(missing), len(send.Effects)/2)
}

func newInputs(r io.Reader, clients []string) *Reader {
	reader := NewReader(r, clients)
	reader.SkipEffects()
	return reader
}
