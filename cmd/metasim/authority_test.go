package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each case takes as many messages as its servers are apart, each of which takes its time, and says from which instant on who owns the entity.
func TestAuthorityDemo(t *testing.T) {
	s := newStage(t)
	for _, c := range []struct {
		args             string
		messages         int
		latency, instant int64 // ms; instant 0: the owner is the same
		after, refused   string
	}{
		{"--case 1 --hops 2", 7, 70, 70, "sim-b", ""},
		{"--case 1 --hops 5", 13, 130, 130, "sim-b", ""},
		{"--case 1 --hops 2 --rule ask", 9, 90, 90, "sim-b", ""},
		{"--case 1 --rule deny", 4, 40, 0, "sim-a", "denied"},
		{"--case 2", 3, 30, 30, "sim-a", ""},
		{"--case 2 --rule ask --answer no", 4, 40, 0, "sim-b", "said-no"},
		{"--case 2 --rule ask --answer never", 3, 1020, 0, "sim-b", "no-answer"},
		{"--case 3", 2, 20, 10, "sim-b", ""},
		{"--case 3 --rule ask --hops 7", 4, 40, 30, "sim-b", ""},
		{"--case 3 --rule ask --answer no", 2, 20, 0, "sim-a", "said-no"},
		{"--case 3 --rule ask --answer never", 1, 10, 0, "sim-a", "no-answer"},
		{"--case 3 --rule deny", 0, 0, 0, "sim-a", "denied"},
	} {
		t.Run(c.args, func(t *testing.T) {
			var digest string
			for _, transport := range []string{"mem", "unix"} {
				e := s.metasim(append([]string{"authority", "demo", "--json", "--transport", transport}, strings.Fields(c.args)...)...)
				require.Zero(t, e.status, e.err)
				var got struct {
					OK              bool
					Messages, Hops  int
					LatencyNS       int64  `json:"latency_ns"`
					OwnerBefore     string `json:"owner_before"`
					OwnerAfter      string `json:"owner_after"`
					Effective       []int64
					Refused, Digest string
					RunDir          string `json:"run_dir"`
					Trace           []struct {
						From, To, Kind string
						Sent, Due      []int64
					}
				}
				require.NoError(t, json.Unmarshal([]byte(e.out), &got))
				require.True(t, got.OK)
				require.Equal(t, c.messages, got.Messages)
				require.Len(t, got.Trace, c.messages)
				require.Equal(t, c.messages, got.Hops)
				require.Equal(t, c.latency*1_000_000, got.LatencyNS)
				require.Equal(t, c.after, got.OwnerAfter)
				require.Equal(t, c.refused, got.Refused)
				if c.instant == 0 {
					require.Nil(t, got.Effective)
					require.Equal(t, got.OwnerBefore, got.OwnerAfter)
				} else {
					require.Equal(t, []int64{c.instant * 1_000_000, 0}, got.Effective)
					require.NotEqual(t, got.OwnerBefore, got.OwnerAfter)
				}
				if digest != "" {
					require.Equal(t, digest, got.Digest)
				}
				digest = got.Digest
				require.Zero(t, s.metasim("replay", got.RunDir).status)
			}
		})
	}
}

// A flag that is wrong, or not for this case, is named with what to write.
func TestAuthorityDemoIsChecked(t *testing.T) {
	s := newStage(t)
	for args, want := range map[string]string{
		"--case 4":           "--case is 4; use 1, 2 or 3",
		"--hops 0":           "--hops is 0; use 1 to 64",
		"--rule maybe":       `--rule is "maybe"; use deny, ask or allow`,
		"--answer maybe":     `--answer is "maybe"; use yes, no or never`,
		"--delay 5":          `"5" has no unit`,
		"--transport pigeon": `--transport is "pigeon"; use mem`,
	} {
		e := s.metasim(append([]string{"authority", "demo"}, strings.Fields(args)...)...)
		require.Equal(t, 2, e.status, args)
		require.Contains(t, e.err, want)
	}
}
