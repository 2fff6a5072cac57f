package scenarios

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const public = `
name: x
until: 1s
public_lcm: file://logs/run.lcmlog
clients:
  - {name: s, model: source, with: {channel: A, period: 1s}}
`

func TestWhereARunIsShown(t *testing.T) {
	dir := t.TempDir()
	here, err := os.Getwd()
	require.NoError(t, err)
	for _, c := range []struct{ flag, set, want string }{
		{"", "", "file://" + filepath.Join(dir, "logs", "run.lcmlog")}, // beside the scenario
		{"file://x.lcmlog", "", "file://" + filepath.Join(here, "x.lcmlog")},
		{"file:///tmp/x.lcmlog", "", "file:///tmp/x.lcmlog"},
		{"udpm://?ttl=1", "", "udpm://?ttl=1"},
		{"off", "", ""},
		{"", "public_lcm=off", ""},
		{"tcpq://:7701", "public_lcm=off", "tcpq://:7701"},
	} {
		o := Overrides{PublicLCM: c.flag}
		if c.set != "" {
			o.Set = []string{c.set}
		}
		s, _, err := Parse(filepath.Join(dir, "x.metasim.yaml"), []byte(public), o)
		require.NoError(t, err)
		assert.Equal(t, c.want, s.PublicLCM)
		assert.NotContains(t, resolved(t, s), "public_lcm", "where a run is shown is no part of what it is")
	}
	_, _, err = Parse(filepath.Join(dir, "x.metasim.yaml"), []byte(public), Overrides{PublicLCM: "file://"})
	assert.ErrorContains(t, err, `--lcm: public_lcm: "file://" has no path; use file://path`)
}
