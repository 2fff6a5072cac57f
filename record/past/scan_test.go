package past

import (
	"errors"
	"io"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/record/journal"
)

// aRing is a run in which so many clients send in turn, each to the next one, and one entry of a hundred reaches all.
func aRing(tb testing.TB, clients, sends, payload int) (dir journal.Dir, size int64) {
	tb.Helper()
	dir, err := journal.Create(tb.TempDir())
	require.NoError(tb, err)
	w, err := dir.NewJournal(make([]string, clients))
	require.NoError(tb, err)
	r := rand.New(rand.NewPCG(1, 2))
	given := make([]uint64, clients)
	sent := make([]uint64, clients)
	for i := range sends {
		from := metasim.ClientID(r.IntN(clients))
		at := metasim.At(metasim.Time(i + 1))
		m := metasim.Message{From: from, Seq: sent[from], Channel: "C", Sent: at, Due: at, Payload: make([]byte, r.IntN(payload))}
		sent[from]++
		to := []metasim.ClientID{(from + 1) % metasim.ClientID(clients)}
		if i%100 == 0 {
			to = nil
			for id := range metasim.ClientID(clients) {
				to = append(to, id)
			}
		}
		var queued, delivered []metasim.Effect
		for _, id := range to {
			given[id]++
			queued = append(queued, &metasim.Queue{To: id, Message: m})
			delivered = append(delivered, &metasim.Deliver{To: id, Number: given[id], Message: m}, &metasim.Authorize{To: id, Until: metasim.At(metasim.Time(i + 2))})
		}
		require.NoError(tb, w.Observe(int64(i), &metasim.Send{Client: from, Channel: "C", Sent: at, Payload: m.Payload}, queued))
		require.NoError(tb, w.Observe(int64(i), nil, delivered))
	}
	size, written := w.Mark()
	require.NoError(tb, written())
	require.NoError(tb, w.Close())
	return dir, size
}

// part is what was read of a client: its events, and the effects.
type part struct {
	events  []metasim.Event
	effects []metasim.Effect
}

// readAll reads a source to its end; pause is called after each entry.
func readAll(t require.TestingT, s Source, pause func()) (p part) {
	for {
		e, err := s.Next()
		if errors.Is(err, io.EOF) {
			require.NoError(t, s.Close())
			return p
		}
		require.NoError(t, err)
		if e.Event != nil {
			p.events = append(p.events, e.Event)
		}
		p.effects = append(p.effects, e.Effects...)
		pause()
	}
}

func ids(clients int) (all []metasim.ClientID) {
	for id := range metasim.ClientID(clients) {
		all = append(all, id)
	}
	return all
}

// TestTogether: what clients read together, at their own paces and with little memory, is what each reads alone; it was read once, and nothing is kept.
func TestTogether(t *testing.T) {
	const clients = 7
	dir, size := aRing(t, clients, 20_000, 300)
	var want []part
	for id := range metasim.ClientID(clients) {
		own, err := dir.OpenOwn(id, size)
		require.NoError(t, err)
		want = append(want, readAll(t, own, func() {}))
	}
	s := NewScan(dir, ids(clients))
	s.bound = 1 << 20
	var readers sync.WaitGroup
	got, most := make([]part, clients), 0
	for id := range clients {
		readers.Go(func() {
			own, err := s.Open(metasim.ClientID(id), size)
			require.NoError(t, err)
			r := rand.New(rand.NewPCG(3, uint64(id)))
			got[id] = readAll(t, own, func() {
				s.mu.Lock()
				most = max(most, s.kept)
				s.mu.Unlock()
				for range r.IntN(1 + id) {
					runtime.Gosched()
				}
			})
		})
	}
	readers.Wait()
	require.Equal(t, want, got)
	require.Greater(t, s.first, 3, "what all have read was forgotten")
	require.Less(t, most, s.bound+4<<20, "a chunk more")
	require.Nil(t, s.shared)
	require.Nil(t, s.chunks)
}

// TestTogetherToASizeOfOnesOwn: a journal grows while clients come back, and each reads as much as there was then.
func TestTogetherToASizeOfOnesOwn(t *testing.T) {
	dir, size := aRing(t, 3, 3000, 100)
	own, err := dir.OpenOwn(2, size) // client 0 has nothing where this one has something
	require.NoError(t, err)
	first := int64(0)
	for range 500 {
		_, err := own.Next()
		require.NoError(t, err)
		first = own.Offset()
	}
	require.NoError(t, own.Close())
	s := NewScan(dir, ids(3))
	late, err := s.Open(1, size)
	require.NoError(t, err)
	early, err := s.Open(0, first)
	require.NoError(t, err)
	require.NotEmpty(t, readAll(t, late, func() {}).effects)
	alone, err := dir.OpenOwn(0, first)
	require.NoError(t, err)
	require.Equal(t, readAll(t, alone, func() {}), readAll(t, early, func() {}))
}

// One client reads nothing, and another does not come. The others wait for them for one second and then go on. The two still get all of their
// past when they read later.
func TestWhoStandsStillReadsAlone(t *testing.T) {
	dir, size := aRing(t, 4, 20_000, 300)
	var want []part
	for _, id := range ids(4) {
		own, err := dir.OpenOwn(id, size)
		require.NoError(t, err)
		want = append(want, readAll(t, own, func() {}))
	}
	synctest.Test(t, func(t *testing.T) {
		s := NewScan(dir, ids(4))
		s.bound = 1 << 20
		open := func(id metasim.ClientID) Source {
			own, err := s.Open(id, size)
			require.NoError(t, err)
			return own
		}
		stands, goesOn := open(0), open(1)
		begun := time.Now()
		e, err := stands.Next()
		require.NoError(t, err)
		require.Equal(t, want[1], readAll(t, goesOn, func() {}))
		require.Equal(t, standsFor, time.Since(begun))
		require.Nil(t, s.shared, "nothing is kept for one that reads alone")
		rest := readAll(t, stands, func() {})
		all := part{effects: append(e.Effects, rest.effects...)}
		if e.Event != nil {
			all.events = append(all.events, e.Event)
		}
		all.events = append(all.events, rest.events...)
		require.Equal(t, want[0], all)
		require.Equal(t, want[3], readAll(t, open(3), func() {}), "it comes when the others are done")
		require.Nil(t, s.shared)
	})
}

// BenchmarkTogether: 50 clients read their past, together and each for itself.
func BenchmarkTogether(b *testing.B) {
	const clients, sends = 50, 50_000
	dir, size := aRing(b, clients, sends, 64)
	for name, together := range map[string][]metasim.ClientID{"together": ids(clients), "alone": nil} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s := NewScan(dir, together)
				var readers sync.WaitGroup
				for _, id := range ids(clients) {
					own, err := s.Open(id, size)
					require.NoError(b, err)
					readers.Go(func() { readAll(b, own, func() {}) })
				}
				readers.Wait()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*2*sends), "ns/input")
		})
	}
}
