package federates

import (
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/delay"
	"metasim/federates/catalog"
	"metasim/federates/phold"
	"metasim/metasim"
)

// pholdRun is an entry of count clients, whose links have the delay of the lookahead.
func pholdRun(count int, with map[string]any, links metasim.Time) testRun {
	s := testRun{until: 20 * ms, seed: 7, rules: []delay.Rule{
		{From: "lp*", To: "lp*", Spec: delay.Spec{Delay: delay.Constant(links)}},
	}}
	for i := range count {
		name := "lp"
		if count > 1 {
			name = fmt.Sprintf("lp-%d", i)
		}
		s.parts = append(s.parts, part{name: name, model: "phold", with: with,
			env: catalog.Env{Entry: "lp", Index: i, Count: count}})
	}
	return s
}

// pholdResult sums the results of all clients.
func pholdResult(t *testing.T, s testRun) (events, hash uint64) {
	results, _ := s.mustRun(t)
	for _, r := range results {
		var one struct {
			Events uint64
			Hash   string
		}
		require.NoError(t, json.Unmarshal(r.Result, &one))
		require.Len(t, one.Hash, 16)
		h, err := strconv.ParseUint(one.Hash, 16, 64)
		require.NoError(t, err)
		events, hash = events+one.Events, hash+h
	}
	return events, hash
}

func TestPholdIsTheSameForEveryCount(t *testing.T) {
	with := map[string]any{"lps": 11, "population": 3, "remote": 0.7, "mean": "1ms", "lookahead": "200us"}
	cfg := phold.Config{LPs: 11, Population: 3, Remote: 0.7, Mean: ms, Lookahead: 200 * metasim.Microsecond, Seed: 7}
	alone := phold.NewBlock(cfg, 0, 1)
	for alone.Next() < 20*ms {
		alone.Execute(nil)
	}
	events, hash := alone.Result()
	assert.InEpsilon(t, 11*3*20, events, 0.2)
	for _, count := range []int{1, 2, 3, 5, 13} {
		for _, links := range []metasim.Time{200 * metasim.Microsecond, metasim.Microsecond, 0} {
			gotEvents, gotHash := pholdResult(t, pholdRun(count, with, links))
			assert.Equal(t, events, gotEvents, "%d clients, links of %v", count, links)
			assert.Equal(t, hash, gotHash, "%d clients, links of %v", count, links)
		}
	}
}

// A lookahead of a few nanoseconds makes times collide, within a client and between clients.
func TestPholdBreaksTiesTheSameWay(t *testing.T) {
	with := map[string]any{"lps": 4, "population": 8, "remote": 0.8, "mean": "4ns", "lookahead": "2ns"}
	one := pholdRun(1, with, 2)
	one.until = 300
	events, hash := pholdResult(t, one)
	assert.Greater(t, events, uint64(1000))
	four := pholdRun(4, with, 2)
	four.until = 300
	gotEvents, gotHash := pholdResult(t, four)
	assert.Equal(t, events, gotEvents)
	assert.Equal(t, hash, gotHash)
}

func TestPholdGrainTakesTimeAndChangesNothing(t *testing.T) {
	with := map[string]any{"lps": 2, "population": 1, "remote": 0.5, "mean": "1ms", "lookahead": "1ms"}
	events, hash := pholdResult(t, pholdRun(2, with, ms))
	with["grain"] = "200us"
	begin := time.Now()
	gotEvents, gotHash := pholdResult(t, pholdRun(2, with, ms))
	assert.Equal(t, events, gotEvents)
	assert.Equal(t, hash, gotHash)
	assert.GreaterOrEqual(t, time.Since(begin), time.Duration(events/2)*200*time.Microsecond)
}

func TestPholdOverLinksThatAreTooSlow(t *testing.T) {
	with := map[string]any{"lps": 2, "population": 1, "remote": 0.5, "mean": "1ms", "lookahead": "1ms"}
	_, _, err := pholdRun(2, with, 3*ms).run(t)
	assert.ErrorContains(t, err, "the link's delay exceeds the lookahead of 1ms")
	assert.ErrorContains(t, err, `from client "lp-`)
}
