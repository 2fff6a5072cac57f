package run

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/scenarios"
)

// checked is what is said of clients with these channels: "name: published, ... < subscribed, ...".
func checked(t *testing.T, shown bool, clients ...string) []string {
	t.Helper()
	var entries strings.Builder
	split := func(s string) (parts []string) {
		for _, part := range strings.Split(s, ",") {
			if part = strings.TrimSpace(part); part != "" {
				parts = append(parts, part)
			}
		}
		return parts
	}
	for _, c := range clients {
		client, _, _ := strings.Cut(c, ":")
		fmt.Fprintf(&entries, "  - {name: %s, external: true}\n", client)
	}
	sc, _, err := scenarios.Parse("x.yaml", []byte("name: x\nclients:\n"+entries.String()), scenarios.Overrides{})
	require.NoError(t, err)
	check := newChannelCheck(sc, sortedNames(sc))
	for _, c := range clients {
		client, channels, _ := strings.Cut(c, ":")
		pubs, subs, _ := strings.Cut(channels, "<")
		for id, d := range check.declared {
			if d.Client == client {
				require.NoError(t, check.Observe(0, &metasim.Join{Client: metasim.ClientID(id), Publications: split(pubs), Subscriptions: split(subs)}, nil))
			}
		}
	}
	return texts(warnings(check.declared, shown))
}

func TestWarnings(t *testing.T) {
	require.Empty(t, checked(t, false, "a: X < Y", "b: Y < X", "log: < .*", "spy: < X, Y"))
	require.Equal(t, []string{"b subscribes to A$B, which no channel can match; mend the expression", "nobody subscribes to X of a"},
		checked(t, false, "a: X", "b: < A$B"))
	require.Empty(t, checked(t, true, "a: X", "b:"), "who listens to a public network is not known")
	require.Equal(t, []string{`a and b subscribe to "P; Q", which nobody publishes`}, checked(t, true, "a: < P; Q", "b: < P; Q"))
}

// A robot of 40 channels, of which a tenth is for tools that do not take part, is told of in three lines.
func TestWarningsAreFew(t *testing.T) {
	var camera, planner, viewer []string
	for i := range 40 {
		camera = append(camera, fmt.Sprintf("SENSOR_%d", i))
		if i < 36 {
			planner = append(planner, fmt.Sprintf("SENSOR_%d", i))
		}
		viewer = append(viewer, fmt.Sprintf("DEBUG_%02d", i))
	}
	require.Equal(t, []string{
		"planner subscribes to BATERY, which nobody publishes; did you mean BATTERY?",
		"viewer subscribes to DEBUG_00, DEBUG_01, DEBUG_02, DEBUG_03, DEBUG_04 and 35 more, which nobody publishes",
		"nobody subscribes to 4 channels: SENSOR_36 of camera, SENSOR_37 of camera, SENSOR_38 of camera and SENSOR_39 of camera",
	}, checked(t, false, "camera: BATTERY, "+strings.Join(camera, ","), "planner: < BATERY, "+strings.Join(planner, ","),
		"viewer: < "+strings.Join(viewer, ",")))
	var robots []string
	for i := range 30 {
		robots = append(robots, fmt.Sprintf("r%02d: < ESTOP, R%d_CMD", i, i))
	}
	lines := shortened(checked(t, false, robots...), "elsewhere")
	require.Len(t, lines, 13)
	require.Contains(t, lines, "r00, r01, r02, r03, r04 and 25 more subscribe to ESTOP, which nobody publishes")
	require.Equal(t, "and 19 more: see elsewhere", lines[12])
}

func TestLists(t *testing.T) {
	require.Equal(t, "a", list([]string{"a"}, 1))
	require.Equal(t, "a and 1 more", list([]string{"a", "b"}, 1))
	require.Equal(t, "a and b", list([]string{"a", "b"}, 2))
	require.Equal(t, "a, b and c", list([]string{"a", "b", "c"}, 2))
	require.Equal(t, "a, b and 2 more", list([]string{"a", "b", "c", "d"}, 2))
	require.Equal(t, `"A\x1b[2J"`, name("A\x1b[2J"))
	require.Equal(t, `"A B"`, name("A B"))
	require.Equal(t, "A/B-c.*", name("A/B-c.*"))
}

// A strict run in which a channel is misspelt does not begin: no client does anything, however short the run is.
func TestAStrictRunDoesNotBegin(t *testing.T) {
	sc, _, err := scenarios.Parse("x.yaml", []byte(`name: x
until: 100ms
clients:
  - {name: sim, model: source, with: {channel: STATE, period: 10ms}}
  - {name: plant, model: sink, with: {channels: [STAET]}}
`), scenarios.Overrides{})
	require.NoError(t, err)
	for i := range 20 {
		out, err := Scenario(t.Context(), sc, Options{Transport: "mem", Strict: true, Out: filepath.Join(t.TempDir(), strconv.Itoa(i))})
		require.NoError(t, err)
		require.ErrorContains(t, out.Err, "did you mean STATE?")
		require.Len(t, out.Warnings, 1)
		for _, c := range out.Clients {
			require.Equal(t, "aborted", c.Exit, c.Name)
			require.Zero(t, c.Sent, c.Name)
		}
	}
}
