package journal

import (
	"bytes"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/metasim"
)

// ownOf is what a plain reading of a journal says of one client.
func ownOf(id metasim.ClientID, entries []Entry) (of []any) {
	for _, e := range entries {
		if client, is := metasim.ClientOf(e.Event); is && client == id {
			of = append(of, e.Event)
		}
		for _, effect := range e.Effects {
			switch effect := effect.(type) {
			case *metasim.Deliver:
				if effect.To == id {
					of = append(of, effect)
				}
			case *metasim.Authorize:
				if effect.To == id {
					of = append(of, &metasim.Authorize{To: id, Until: effect.Until})
				}
			}
		}
	}
	return of
}

// readOwn reads what a journal holds of one client.
func readOwn(t require.TestingT, id metasim.ClientID, journal []byte) (of []any, o *Own) {
	o = NewOwn(bytes.NewReader(journal), id)
	for {
		e, err := o.Next()
		if err == io.EOF {
			return of, o
		}
		require.NoError(t, err)
		if e.Event != nil {
			of = append(of, e.Event)
		}
		for _, effect := range e.Effects {
			of = append(of, effect)
		}
	}
}

// TestOwnIsThePartOfAClient: what is read of one client is what is read of all, without the others.
func TestOwnIsThePartOfAClient(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		journal := write(t, runs().Draw(t, "run")...)
		entries, err := read(journal)
		require.NoError(t, err)
		for _, id := range []metasim.ClientID{0, 1, 2, 127, 128} {
			of, _ := readOwn(t, id, journal)
			require.Equal(t, ownOf(id, entries), of)
		}
	})
}

// TestOwnOfARun: the same of a run with losses and duplicates; of messages that were delivered nothing is kept.
func TestOwnOfARun(t *testing.T) {
	config := metasim.Config{Clients: []string{"a", "b", "c"}, Delays: rough{}, Until: 1000}
	var buf bytes.Buffer
	w := NewWriter(&buf)
	drive(t, config, func(ev metasim.Event, effs []metasim.Effect) { require.NoError(t, w.Observe(0, ev, effs)) })
	require.NoError(t, w.Close())
	entries, err := read(buf.Bytes())
	require.NoError(t, err)
	for id := range metasim.ClientID(len(config.Clients)) {
		of, o := readOwn(t, id, buf.Bytes())
		require.Equal(t, ownOf(id, entries), of)
		require.Greater(t, len(of), 100)
		require.Less(t, len(o.messages), 50, "those that were on their way at the end")
	}
}

// TestOwnOfASplitEntry: a message that is queued for very many is in one record, and its last recipients in another.
func TestOwnOfASplitEntry(t *testing.T) {
	send := Entry{Event: &metasim.Send{Client: 3, Channel: "X", Payload: []byte("to all")}}
	const clients = 120_000
	for id := range metasim.ClientID(clients) {
		send.Effects = append(send.Effects, &metasim.Queue{To: id, Message: metasim.Message{From: 3, Channel: "X", Payload: []byte("to all"), Due: metasim.At(7)}})
	}
	last := metasim.ClientID(clients - 1)
	given := &metasim.Deliver{To: last, Number: 1, Message: metasim.Message{From: 3, Channel: "X", Payload: []byte("to all"), Due: metasim.At(7)}}
	journal := write(t, send, Entry{Effects: []metasim.Effect{given}})
	require.Greater(t, records(t, journal), 2)
	of, _ := readOwn(t, last, journal)
	require.Equal(t, []any{given}, of)
}

// TestOwnOfDamage: whatever stands in a record, it is refused or read, and a delivery of what was not queued is refused.
func TestOwnOfDamage(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		body := append([]byte{8, 1}, rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "body")...)
		o := NewOwn(bytes.NewReader(frame(body)), 1)
		for range 2 {
			if _, err := o.Next(); err != nil && err != io.EOF {
				require.ErrorAs(t, err, new(*TornError))
			}
		}
	})
	d := write(t, Entry{Effects: []metasim.Effect{&metasim.Deliver{To: 1, Number: 1}}})
	_, err := NewOwn(bytes.NewReader(d), 1).Next()
	require.ErrorContains(t, err, errNotQueued.Error())
}

// BenchmarkOwn reads what a journal holds of one of 16 clients, and BenchmarkNext all of it: their ratio is what it is worth.
func BenchmarkOwn(b *testing.B) {
	entries := []Entry{}
	for i := range 4096 {
		from := metasim.ClientID(i % 16)
		m := metasim.Message{From: from, Seq: uint64(i / 16), Channel: "A", Payload: make([]byte, 64), Due: metasim.At(metasim.Time(i + 5))}
		entries = append(entries,
			Entry{Wall: int64(i), Event: &metasim.Send{Client: from, Channel: "A", Payload: m.Payload},
				Effects: []metasim.Effect{&metasim.Queue{To: (from + 1) % 16, Message: m}}},
			Entry{Wall: int64(i), Event: &metasim.PollWait{Client: from, Want: metasim.Infinity, Messages: true},
				Effects: []metasim.Effect{&metasim.Deliver{To: (from + 1) % 16, Number: uint64(i/16 + 1), Message: m}, &metasim.Authorize{To: from, Until: m.Due}}})
	}
	journal := write(b, entries...)
	for name, next := range map[string]func() func() error{
		"all": func() func() error {
			r := NewReader(bytes.NewReader(journal), nil)
			return func() error { _, err := r.Next(); return err }
		},
		"own": func() func() error {
			o := NewOwn(bytes.NewReader(journal), 3)
			return func() error { _, err := o.Next(); return err }
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				read := next()
				for read() == nil {
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*2*4096), "ns/input")
		})
	}
}
