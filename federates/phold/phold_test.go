package phold

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/metasim"
)

// small is a workload with many ties: times are whole nanoseconds, and there are few of them.
var small = Config{LPs: 7, Population: 5, Remote: 0.6, Mean: 6, Lookahead: 2, Seed: 3}

// run executes a workload in count blocks, handing events over at once.
func run(t require.TestingT, cfg Config, count int, until metasim.Time) (events, hash uint64) {
	blocks := make([]*Block, count)
	for i := range blocks {
		blocks[i] = NewBlock(cfg, i, count)
	}
	for {
		next := slices.MinFunc(blocks, func(a, b *Block) int { return int(min(1, max(-1, a.Next()-b.Next()))) })
		now := next.Next()
		if now >= until {
			break
		}
		next.Execute(func(e Event) {
			require.NoError(t, blocks[cfg.Owner(e.To, count)].Schedule(e, now+cfg.Lookahead))
		})
	}
	for _, b := range blocks {
		n, h := b.Result()
		events, hash = events+n, hash+h
	}
	return events, hash
}

// oracle is PHOLD as its definition reads: one list of events, the next one found by looking at all.
func oracle(cfg Config, until metasim.Time) (events, hash uint64) {
	var list []Event
	lps := make([]lp, cfg.LPs)
	pasts := make([][]byte, cfg.LPs)
	exponent := float64(cfg.Mean - cfg.Lookahead)
	for i := range lps {
		lps[i] = newLP(cfg.Seed, uint32(i))
		for range cfg.Population {
			list = append(list, lps[i].send(uint32(i), lps[i].after(0, cfg.Lookahead, exponent)))
		}
	}
	for {
		slices.SortFunc(list, func(a, b Event) int {
			if a.Time != b.Time {
				return int(a.Time - b.Time)
			}
			if a.From != b.From {
				return int(a.From) - int(b.From)
			}
			return int(a.Count) - int(b.Count)
		})
		e := list[0]
		if e.Time >= until {
			break
		}
		events++
		past := binary.LittleEndian.AppendUint64(pasts[e.To], uint64(e.Time))
		pasts[e.To] = binary.LittleEndian.AppendUint32(past, e.From)
		l := &lps[e.To]
		to := l.destination(cfg.Remote, cfg.LPs)
		list[0] = l.send(to, l.after(e.Time, cfg.Lookahead, exponent))
	}
	for _, past := range pasts {
		sum := sha256.Sum256(past)
		hash += binary.LittleEndian.Uint64(sum[:])
	}
	return events, hash
}

func TestEveryNumberOfBlocksGivesTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Config{
			LPs:        rapid.Uint32Range(1, 12).Draw(t, "lps"),
			Population: rapid.IntRange(1, 4).Draw(t, "population"),
			Remote:     rapid.Float64Range(0, 1).Draw(t, "remote"),
			Lookahead:  metasim.Time(rapid.IntRange(1, 20).Draw(t, "lookahead")),
			Seed:       rapid.Uint64().Draw(t, "seed"),
		}
		cfg.Mean = cfg.Lookahead + metasim.Time(rapid.IntRange(0, 20).Draw(t, "more"))
		events, hash := oracle(cfg, 200)
		count := rapid.IntRange(1, 20).Draw(t, "count")
		gotEvents, gotHash := run(t, cfg, count, 200)
		assert.Equal(t, events, gotEvents)
		assert.Equal(t, hash, gotHash)
	})
}

// These numbers are the same on every processor and for ever.
func TestResultIsPinned(t *testing.T) {
	events, hash := run(t, small, 3, 1000)
	assert.Equal(t, "5822 68c0784aee1fdaf3", fmt.Sprintf("%d %016x", events, hash))
}

func TestTheNumberOfEventsIsAsExpected(t *testing.T) {
	cfg := Config{LPs: 50, Population: 4, Remote: 0.25, Mean: metasim.Millisecond, Lookahead: 100 * metasim.Microsecond}
	events, _ := run(t, cfg, 4, metasim.Second)
	assert.InEpsilon(t, 50*4*1000, events, 0.02, "LPs * population * until / mean")
}

func TestOwnersAgreeWithBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Config{LPs: rapid.Uint32Range(1, 1000).Draw(t, "lps")}
		count := rapid.IntRange(1, 50).Draw(t, "count")
		number := rapid.Uint32Range(0, cfg.LPs-1).Draw(t, "lp")
		owner := cfg.Owner(number, count)
		assert.LessOrEqual(t, cfg.first(owner, count), number)
		assert.Less(t, number, cfg.first(owner+1, count))
		assert.Equal(t, cfg.LPs, cfg.first(count, count))
	})
}

func TestEventsThatComeWrong(t *testing.T) {
	b := NewBlock(small, 0, 2)
	assert.EqualError(t, b.Schedule(Event{To: 3, Time: 5}, 5),
		"an event for LP 3 came to a client that does not have it; "+
			"give every client of the entry the same parameters")
	assert.EqualError(t, b.Schedule(Event{To: 1, Time: 5}, 6),
		"an event for LP 1 at 5ns arrived at 6ns: the link's delay exceeds the lookahead of 2ns; "+
			"give the links among these clients a delay of at most that")
	now := b.Next()
	b.Execute(func(Event) {})
	assert.ErrorContains(t, b.Schedule(Event{To: 1, Time: now}, now), "after the events of that time were executed")
	assert.NoError(t, b.Schedule(Event{To: 1, Time: now + 1}, now+1))
}

func TestPayload(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := Event{To: rapid.Uint32().Draw(t, "to"), Time: metasim.Time(rapid.Int64().Draw(t, "time")),
			From: rapid.Uint32().Draw(t, "from"), Count: rapid.Uint64().Draw(t, "count")}
		got, err := decode(e.Encode())
		assert.NoError(t, err)
		assert.Equal(t, e, got)
	})
	assert.Equal(t, []byte{1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0},
		Event{To: 1, Time: 2, From: 3, Count: 4}.Encode())
	_, err := decode(make([]byte, 23))
	assert.EqualError(t, err, "an event of 23 bytes; it has 24: check what is published on the channel")
}

func TestLogIsNearTheTruth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := float64(rapid.Uint64Range(1, 1<<53).Draw(t, "x")) / (1 << 53)
		assert.InDelta(t, math.Log(x), log(x), math.Abs(math.Log(x))*3e-16)
	})
	assert.Zero(t, log(1))
}

func BenchmarkExecute(b *testing.B) {
	block := NewBlock(Config{LPs: 1000, Population: 4, Remote: 0.25, Mean: 1e6, Lookahead: 1e5}, 0, 1)
	for b.Loop() {
		block.Execute(func(Event) {})
	}
}

func FuzzEvent(f *testing.F) {
	f.Add(Event{To: 1, Time: 2, From: 3, Count: 4}.Encode())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, payload []byte) {
		e, err := decode(payload)
		if err != nil {
			return
		}
		assert.Equal(t, payload, e.Encode())
		b := NewBlock(small, 1, 2)
		if b.Schedule(e, 10) == nil {
			assert.LessOrEqual(t, b.Next(), e.Time)
			assert.GreaterOrEqual(t, e.Time, metasim.Time(10))
		}
	})
}
