package monitor_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// grafanaTypes has the panels of Grafana that are used, as its npm package @grafana/schema names their options.
var grafanaTypes = map[string]string{"gauge": "GaugePanelCfg", "stat": "StatPanelCfg", "bargauge": "BarGaugePanelCfg", "timeseries": "TimeSeriesPanelCfg"}

// The dashboard has the form that Grafana has published: no field that it does not know, no value that it does not have. METASIM_GRAFANA names
// a directory in which `npm install @grafana/schema typescript` was done.
func TestDashboardIsGrafanas(t *testing.T) {
	home := os.Getenv("METASIM_GRAFANA")
	if home == "" {
		t.Skip("SKIPPED LOUDLY: METASIM_GRAFANA names no directory with @grafana/schema and typescript, so the dashboard is not held against Grafana's schema")
	}
	text, err := os.ReadFile(filepath.Join("..", "docs", "grafana.json"))
	require.NoError(t, err)
	var all map[string]any
	require.NoError(t, json.Unmarshal(text, &all))
	for _, k := range []string{"__inputs", "__requires", "__elements"} { // for the dialogue that imports it; no part of a dashboard
		delete(all, k)
	}
	for _, v := range all["templating"].(map[string]any)["list"].([]any) {
		delete(v.(map[string]any), "definition") // Grafana writes it, and the schema does not have it
	}
	var b strings.Builder
	say := func(kind, name string, value any) {
		text, err := json.Marshal(value)
		require.NoError(t, err)
		fmt.Fprintf(&b, "export const %s: Loose<%s> = %s;\n", name, kind, text)
	}
	b.WriteString("import type {Dashboard} from '@grafana/schema';\n" +
		"type Loose<T> = T extends string ? `${T}` : T extends (infer U)[] ? Loose<U>[] : T extends object ? {[K in keyof T]?: Loose<T[K]>} : T;\n")
	for panel, name := range grafanaTypes {
		fmt.Fprintf(&b, "import type * as %s from '@grafana/schema/dist/esm/raw/composable/%s/panelcfg/x/%s_types.gen';\n", panel, panel, name)
	}
	say("Dashboard", "dashboard", all)
	for i, p := range all["panels"].([]any) {
		panel := p.(map[string]any)
		kind := panel["type"].(string)
		say(kind+".Options", fmt.Sprintf("options%d", i), panel["options"])
		if custom, known := panel["fieldConfig"].(map[string]any)["defaults"].(map[string]any)["custom"]; known {
			say(kind+".FieldConfig", fmt.Sprintf("custom%d", i), custom)
		}
	}
	check := filepath.Join(t.TempDir(), "check.ts")
	require.NoError(t, os.WriteFile(check, []byte(b.String()), 0o600))
	require.NoError(t, os.Symlink(filepath.Join(home, "node_modules"), filepath.Join(filepath.Dir(check), "node_modules")))
	out, err := exec.Command(filepath.Join(home, "node_modules", ".bin", "tsc"), "--noEmit", "--strict", "--skipLibCheck", "--moduleResolution", "bundler",
		"--module", "esnext", check).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// Prometheus reads what a run exports, and every question of the dashboard has an answer there.
func TestDashboardInPrometheus(t *testing.T) {
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("SKIPPED LOUDLY: there is no prometheus, so it was not asked what the dashboard asks")
	}
	run := open(t, 3, make(chan struct{}))
	site := run.show()
	run.stuck()
	require.Eventually(t, func() bool { return run.monitor.View().EtaS != nil }, patience, wink)
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	require.NoError(t, os.WriteFile(config, []byte("scrape_configs:\n- job_name: metasim\n  scrape_interval: 200ms\n  scrape_timeout: 200ms\n"+
		"  static_configs: [{targets: ['"+strings.TrimPrefix(site.URL, "http://")+"']}]\n"), 0o600))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close()) // it is free now
	p := exec.CommandContext(t.Context(), program, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address)
	log, err := os.Create(filepath.Join(dir, "log"))
	require.NoError(t, err)
	p.Stdout, p.Stderr = log, log
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		_ = p.Wait() // it is killed
		require.NoError(t, log.Close())
	})

	text, err := os.ReadFile(filepath.Join("..", "docs", "grafana.json"))
	require.NoError(t, err)
	var d dashboard
	require.NoError(t, json.Unmarshal(text, &d))
	filled := strings.NewReplacer("$__rate_interval", "1m", "$job", "metasim", "$instance", ".*")
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			query := filled.Replace(target.Expr)
			require.Eventually(t, func() bool { return answers(address, query) > 0 }, patience, wink, "%s: %s", panel.Title, query)
		}
	}
}

// answers returns how many series Prometheus answers a query with; 0 also while it starts.
func answers(address, query string) int {
	client := http.Client{Timeout: time.Second}
	response, err := client.Get("http://" + address + "/api/v1/query?query=" + url.QueryEscape(query))
	if err != nil {
		return 0
	}
	defer func() { _ = response.Body.Close() }() // it was read, or is of no use
	var answer struct {
		Data struct{ Result []any }
	}
	if json.NewDecoder(response.Body).Decode(&answer) != nil {
		return 0
	}
	return len(answer.Data.Result)
}
