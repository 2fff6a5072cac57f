package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/metasim"
)

var three = []string{"a", "b", "c"}

// indexed writes entries with an index, as a run does.
func indexed(t require.TestingT, entries ...Entry) (journal []byte, x *Index) {
	var b bytes.Buffer
	w := NewWriter(&b)
	w.index, w.save = newIndexer(three), func(got *Index) error { x = got; return nil }
	for _, e := range entries {
		require.NoError(t, w.Observe(e.Wall, e.Event, e.Effects))
	}
	require.NoError(t, w.Close())
	return b.Bytes(), x
}

// TestIndexIsThatOfReading: what was written beside a journal is what reading it makes, and survives its file.
func TestIndexIsThatOfReading(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, x := indexed(t, runs().Draw(t, "run")...)
		again, torn, err := buildIndex(NewReader(bytes.NewReader(b), nil), three)
		require.NoError(t, err)
		require.NoError(t, torn)
		require.EqualValues(t, len(b), again.Size)
		require.Equal(t, crc32.Checksum(b, castagnoli), x.Sum)
		again.Sum = x.Sum // it is that of its journal anyhow
		file := x.append(nil)
		require.Equal(t, file, again.append(nil))
		parsed, err := parseIndex(file)
		require.NoError(t, err)
		require.Equal(t, file, parsed.append(nil))
	})
}

// TestIndexLeavesOutWhatWasNotHandled: how far a client was ahead depends on real time.
func TestIndexLeavesOutWhatWasNotHandled(t *testing.T) {
	given := func(n, acked uint64) *Index {
		var entries []Entry
		for i := range n {
			m := metasim.Message{From: 1, Channel: "A", Due: metasim.At(metasim.Time(i))}
			entries = append(entries,
				Entry{0, &metasim.Send{Client: 1, Channel: "A"}, []metasim.Effect{&metasim.Queue{To: 0, Message: m}}},
				Entry{0, nil, []metasim.Effect{&metasim.Deliver{To: 0, Number: i + 1, Message: m}}})
		}
		entries = append(entries, Entry{0, &metasim.Leave{Client: 0, Acked: acked}, nil})
		_, x := indexed(t, entries...)
		_, err := parseIndex(x.append(nil))
		require.NoError(t, err)
		return x
	}
	one, other := given(100, 20).Clients[0].Inputs, given(70, 20).Clients[0].Inputs
	require.Equal(t, one.append(nil)[:historySize], other.append(nil)[:historySize])
	require.Len(t, one.Checkpoints, 20)
	require.Len(t, one.Marks, 20)
	require.EqualValues(t, 20, one.Count)
	require.Equal(t, metasim.At(19), one.At)
}

// chain returns the history of items, and their instants: bursts, with pauses of any length. The offsets are their places.
func chain(items []uint64) (*History, []metasim.Instant) {
	c := newHistory(2)
	at := make([]metasim.Instant, len(items))
	now := metasim.Time(0)
	for i, item := range items {
		if item%8 == 0 {
			now = now.Add(metasim.Time(1) << (item >> 8 % 40))
		}
		at[i] = metasim.Instant{Time: now, Step: uint32(i)}
		c.add(item, at[i], int64(i))
	}
	return &c, at
}

// TestFirstDifference compares chains of random lengths that are equal for a random time, up to more checkpoints than are kept.
func TestFirstDifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.SampledFrom([]int{0, 1, 16, 300, 48 * maxCheckpoints})
		a := make([]uint64, rapid.IntRange(0, 3*length.Draw(t, "about")).Draw(t, "items"))
		random := rand.New(rand.NewPCG(1, 2))
		for i := range a {
			a[i] = random.Uint64()
		}
		equal := rapid.IntRange(0, len(a)).Draw(t, "equal")
		b := append([]uint64(nil), a[:equal]...)
		for range rapid.IntRange(0, 200).Draw(t, "more") {
			b = append(b, random.Uint64())
		}
		x, at := chain(a)
		y, other := chain(b)
		require.Less(t, len(x.Checkpoints), maxCheckpoints)
		require.Less(t, len(x.Marks), maxCheckpoints)
		p, parted := FirstDifference(x, y)
		if require.Equal(t, len(a) > equal || len(b) > equal, parted); !parted {
			return
		}
		require.LessOrEqual(t, p.Equal, uint64(equal))
		require.Greater(t, p.Until, uint64(equal))
		require.Less(t, uint64(equal)-p.Equal, max(x.Every, y.Every))
		require.LessOrEqual(t, p.Until, uint64(min(len(a), len(b))+1))
		first := metasim.Infinity
		for _, at := range [][]metasim.Instant{at, other} {
			if equal < len(at) {
				first = metasim.Earlier(first, at[equal])
			}
		}
		require.False(t, p.Bound.Before(first))
		if p.Equal > 0 {
			require.Equal(t, at[p.Equal-1], p.From)
		}
		for n := range uint64(len(a)) {
			if number, offset := x.Before(n); number > 0 {
				require.LessOrEqual(t, number, n)
				require.EqualValues(t, number, offset)
				require.Less(t, n-number, 2*x.Every)
			}
		}
	})
}

// TestHashTellsApart: what differs in anything that two runs can differ in has another hash.
func TestHashTellsApart(t *testing.T) {
	long := bytes.Repeat([]byte("x"), 200)
	other := bytes.Clone(long)
	other[150]++
	seen := map[uint64]int{}
	for i, ev := range []metasim.Event{
		&metasim.Send{}, &metasim.Send{Sent: metasim.At(1)}, &metasim.Send{Sent: metasim.Instant{Step: 1}},
		&metasim.Send{Channel: "A"}, &metasim.Send{Payload: []byte("A")}, &metasim.Send{Payload: []byte("A\x00")},
		&metasim.Send{Channel: "A", Payload: []byte("A")}, &metasim.Send{Channel: "AA"}, &metasim.Send{Payload: make([]byte, 8)},
		&metasim.Send{Payload: make([]byte, 9)}, &metasim.Send{Payload: long}, &metasim.Send{Payload: other}, &metasim.Send{Payload: long[1:]},
		&metasim.Leave{}, &metasim.Leave{Acked: 1}, &metasim.Leave{Now: metasim.At(1)}, &metasim.Leave{Result: []byte("{}")},
	} {
		h := Hash(ev)
		before, met := seen[h]
		require.False(t, met, "%d is as %d", i, before)
		seen[h] = i
		require.NotEqual(t, HashDelivery(metasim.Start, "a", h), HashDelivery(metasim.Start, "b", h))
		require.NotEqual(t, HashDelivery(metasim.Start, "a", h), HashDelivery(metasim.At(1), "a", h))
	}
	require.Zero(t, Hash(&metasim.Leave{Cut: true}))
	require.Zero(t, Hash(nil))
	// Indexes are compared across machines and years: these, which another language has computed, are never to change.
	require.EqualValues(t, uint64(0x8e24aa18e5e9ac6b), Hash(&metasim.Send{Sent: metasim.At(5), Channel: "A", Payload: []byte("hi")}))
	require.EqualValues(t, uint64(0x811f51f12ba9d0fd), Hash(&metasim.Send{Sent: metasim.At(5), Channel: "A", Payload: long}))
}

// TestScan: from the record of any entry on, a scanner tells of the same sends and deliveries as a reader.
func TestScan(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		entries := runs().Draw(rt, "run")
		b := write(rt, entries...)
		d := Dir{path: t.TempDir()}
		require.NoError(rt, os.WriteFile(d.File(journalFile), b, 0o644))
		var offsets []int64
		r := NewReader(bytes.NewReader(b), nil)
		for {
			offset := max(r.offset, int64(headerSize))
			if _, err := r.Next(); errors.Is(err, io.EOF) {
				break
			}
			offsets = append(offsets, offset)
		}
		for i, offset := range offsets {
			s, err := d.Scan(offset)
			require.NoError(rt, err)
			for _, want := range entries[i:] {
				got, err := s.Next()
				require.NoError(rt, err)
				if Hash(want.Event) != 0 {
					require.Equal(rt, want.Event, got.Event)
				}
				var deliveries []Delivery
				for _, e := range want.Effects {
					if e, ok := e.(*metasim.Deliver); ok {
						deliveries = append(deliveries, Delivery{e.To, e.Message.From, e.Message.Seq, e.Message.Due, e.Number})
					}
				}
				require.Equal(rt, deliveries, append([]Delivery(nil), got.Deliveries...))
			}
			_, err = s.Next()
			require.ErrorIs(rt, err, io.EOF)
			require.NoError(rt, s.Close())
		}
	})
}

// FuzzIndex reads anything as an index. What is not one is refused; what is one is written as it was.
func FuzzIndex(f *testing.F) {
	_, x := indexed(f, round()...)
	f.Add(x.append(nil))
	f.Add([]byte(indexMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 4 { // as if the checksum were right: else nothing would get past it
			binary.LittleEndian.PutUint32(b[len(b)-4:], crc32.Checksum(b[:len(b)-4], castagnoli))
		}
		x, err := parseIndex(b)
		if err != nil {
			if !errors.Is(err, ErrIndexVersion) {
				require.ErrorIs(t, err, errNoIndex)
			}
			return
		}
		for i := range x.Clients { // and can be worked with
			FirstDifference(&x.Clients[i].Inputs, &x.Clients[0].Outputs)
			x.Clients[i].Outputs.Before(1 << 40)
		}
	})
}

// Who makes an index keeps no payloads: of what is in flight, which may be much, a hash is enough.
func TestIndexKeepsNoPayloads(t *testing.T) {
	var entries []Entry
	for seq := range uint64(10) {
		m := metasim.Message{From: 1, Seq: seq, Channel: "A", Due: metasim.At(1)}
		entries = append(entries, Entry{0, &metasim.Send{Client: 1, Channel: "A", Payload: make([]byte, 1000)},
			[]metasim.Effect{&metasim.Queue{To: 0, Message: m}}})
	}
	b, _ := indexed(t, entries...)
	r := NewReader(bytes.NewReader(b), nil)
	_, _, err := buildIndex(r, three)
	require.NoError(t, err)
	require.Equal(t, 10, r.dec.sent.total)
	for seq := range uint64(10) {
		require.Len(t, r.dec.sent.find(ref{1, seq}).payload, 8)
	}
}
