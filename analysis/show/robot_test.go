package show

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/analysis"
	"metasim/metasim"
	"metasim/record/journal"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// fixed gives each link the delay of its channel.
type fixed map[string]metasim.Time

func (f fixed) Link(_, _, channel string) metasim.Link { return steady(f[channel]) }

type steady metasim.Time

func (s steady) Min() metasim.Time                          { return metasim.Time(s) }
func (s steady) Earliest(x metasim.Instant) metasim.Instant { return x.Add(metasim.Time(s)) }
func (s steady) Transit(dues []metasim.Instant, _ uint64, sent metasim.Instant, _ int) []metasim.Instant {
	return append(dues, sent.Add(metasim.Time(s)))
}

// robot is a run of four clients: a camera, a planner that takes its time, a base that steps and hears both, and somebody
// who listens. Its journal does not change, so what is made of it does not either.
func robot(t testing.TB) (*analysis.Timeline, *analysis.Report) {
	t.Helper()
	f, err := os.Open("testdata/robot.journal")
	require.NoError(t, err)
	reader := journal.NewReader(f)
	defer func() { require.NoError(t, reader.Close()) }()
	tl, err := analysis.Read(analysis.Source{
		Config: metasim.Config{
			Clients: []string{"a-logger-with-a-long-name", "base", "camera", "planner"},
			Delays:  fixed{"IMAGE": 2 * metasim.Millisecond, "ODOMETRY": metasim.Millisecond}, Until: 200 * metasim.Millisecond,
		},
		Journal: reader,
	})
	require.NoError(t, err)
	require.NoError(t, tl.Torn)
	r := analysis.New(tl)
	r.About(&journal.Manifest{Scenario: "robot", Digest: strings.Repeat("0123456789abcdef", 4), Deterministic: true, OK: true})
	r.WhatIfs = tl.Rank(r)
	tl.Pack(r)
	return tl, r
}

// golden compares with what was written once.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := "testdata/" + name
	if *rewrite {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run the test with -rewrite, and look at what it writes")
	require.True(t, string(want) == got, "%s is not what it was: run the test with -rewrite, and look at it", name)
}
