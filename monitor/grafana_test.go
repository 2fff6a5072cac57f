package monitor_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// dashboard is what the test reads of docs/grafana.json, which has the form of a dashboard that Grafana exports.
type dashboard struct {
	Inputs     []struct{ Name, Type, PluginID string }      `json:"__inputs"`
	Requires   []struct{ Type, ID string }                  `json:"__requires"`
	Schema     int                                          `json:"schemaVersion"`
	Templating struct{ List []struct{ Definition string } } `json:"templating"`
	Panels     []struct {
		ID          int
		Type, Title string
		Datasource  struct{ Type, UID string }
		GridPos     struct{ X, Y, W, H int }
		Targets     []struct{ Expr, RefID, LegendFormat string }
		Options     map[string]any
		FieldConfig struct{ Defaults map[string]any }
		Description string
	}
}

// Every metric and label that the dashboard for Grafana names is there, and every panel has a place of its own.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "grafana.json"))
	require.NoError(t, err)
	var d dashboard
	require.NoError(t, json.Unmarshal(text, &d))
	require.Equal(t, "DS_PROMETHEUS", d.Inputs[0].Name)
	require.GreaterOrEqual(t, d.Schema, 36, "data sources are objects since then")
	require.Greater(t, len(d.Panels), 10)

	cue := make(chan struct{})
	run := open(t, 3, cue)
	site := run.show()
	run.stuck()
	require.Eventually(t, func() bool { return run.monitor.View().EtaS != nil }, patience, wink)
	response, err := http.Get(site.URL + "/metrics")
	require.NoError(t, err)
	metrics, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	has := func(pattern string) {
		t.Helper()
		require.Regexp(t, "(?m)^"+pattern, string(metrics))
	}
	kinds := map[string]bool{}
	for _, r := range d.Requires {
		kinds[r.Type+" "+r.ID] = true
	}
	ids, cells := map[int]bool{}, map[[2]int]string{}
	metric, label := regexp.MustCompile(`metasim_\w+`), regexp.MustCompile(`\{\{(\w+)\}\}`)
	names := func(expr, legend string) {
		found := metric.FindAllString(expr, -1)
		require.NotEmpty(t, found, expr)
		for _, name := range found {
			has(name + `[ {]`)
			for _, l := range label.FindAllStringSubmatch(legend, -1) {
				if l[1] != "instance" { // which Prometheus adds
					has(name + `\{[^}]*` + l[1] + `="`)
				}
			}
			if strings.Contains(expr, "rate(") {
				has("# TYPE " + name + " counter")
			}
		}
	}
	for _, p := range d.Panels {
		require.True(t, kinds["panel "+p.Type], p.Type)
		require.False(t, ids[p.ID], "%s has the id of another", p.Title)
		ids[p.ID] = true
		require.Equal(t, "${DS_PROMETHEUS}", p.Datasource.UID, p.Title)
		require.NotEmpty(t, p.Description, p.Title)
		require.NotEmpty(t, p.Options, p.Title)
		require.NotEmpty(t, p.FieldConfig.Defaults["unit"], p.Title)
		require.NotEmpty(t, p.Targets, p.Title)
		for _, target := range p.Targets {
			names(target.Expr, target.LegendFormat)
		}
		g := p.GridPos
		require.LessOrEqual(t, g.X+g.W, 24, p.Title)
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				require.Empty(t, cells[[2]int{x, y}], "%s lies on it", p.Title)
				cells[[2]int{x, y}] = p.Title
			}
		}
	}
	for _, v := range d.Templating.List {
		names(v.Definition, "")
	}
}
