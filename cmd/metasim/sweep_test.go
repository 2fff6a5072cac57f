package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/run/sweep"
)

// How long a sweep still takes is told from what its workers have done since they began, not since a job was asked for, and once each of them has done something.
func TestSweepProgress(t *testing.T) {
	var said bytes.Buffer
	line := &sweepLine{w: &said, workers: 4, before: sweep.Status{Runs: 106, Done: 6}}
	for i := range 20 {
		if i == 19 {
			line.last = time.Time{} // as if the last line were long ago
		}
		line.ended(&sweep.Row{OK: true, WallS: 1}, 31*time.Second+time.Duration(i/4)*time.Second)
	}
	require.Equal(t, "7 of 106 runs\n26 of 106 runs   4 a second   20s to go\n", said.String())
}
