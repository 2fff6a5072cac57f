package monitor

import (
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// maxSeries is how many clients have metrics, the first in order of name. Prometheus keeps each for a long time.
const maxSeries = 1000

// collector makes metrics of a view when Prometheus asks.
type collector struct{ monitor *Monitor }

// A metric is one value of a view.
type metric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(v *View) float64
}

// A clientMetric is one value of each client.
type clientMetric struct {
	desc  *prometheus.Desc
	kind  prometheus.ValueType
	value func(c *Client) float64
}

const (
	gauge   = prometheus.GaugeValue
	counter = prometheus.CounterValue
)

func runMetrics() []metric {
	desc := func(name, help string) *prometheus.Desc { return prometheus.NewDesc("metasim_"+name, help, nil, nil) }
	return []metric{
		{desc("simulated_seconds", "Simulated time: everything before it has happened."), gauge,
			func(v *View) float64 { return v.Now.Seconds }},
		{desc("wall_seconds", "Real time since all have joined, without pauses."), gauge, func(v *View) float64 { return v.WallS }},
		{desc("realtime_factor", "Simulated seconds per second, recently."), gauge, func(v *View) float64 { return v.Factor }},
		{desc("paused", "1 while the run is paused."), gauge, func(v *View) float64 { return one(v.State == "paused" || v.State == "pausing") }},
		{desc("grants_total", "Authorizations."), counter, func(v *View) float64 { return float64(v.Grants) }},
		{desc("messages_sent_total", "Publishes."), counter, func(v *View) float64 { return float64(v.Sent) }},
		{desc("messages_delivered_total", "Messages that recipients have handled."), counter, func(v *View) float64 { return float64(v.Delivered) }},
		{desc("messages_dropped_total", "Messages that links have lost."), counter, func(v *View) float64 { return float64(v.Dropped) }},
	}
}

func clientMetrics() []clientMetric {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc("metasim_client_"+name, help, []string{"client"}, nil)
	}
	return []clientMetric{
		{desc("simulated_seconds", "The client's last activity."), gauge, func(c *Client) float64 { return c.At.Seconds }},
		{desc("blocked_seconds_total", "Real time for which it waited to be authorized."), counter, func(c *Client) float64 { return c.BlockedS }},
		{desc("busy_seconds_total", "Real time for which it did not wait."), counter, func(c *Client) float64 { return c.BusyS }},
		{desc("messages_sent_total", "Its publishes."), counter, func(c *Client) float64 { return float64(c.Sent) }},
		{desc("messages_delivered_total", "Messages that it has handled."), counter, func(c *Client) float64 { return float64(c.Delivered) }},
		{desc("grants_total", "Its authorizations."), counter, func(c *Client) float64 { return float64(c.Grants) }},
		{desc("queued_messages", "Messages that wait until they may be delivered to it."), gauge, func(c *Client) float64 { return float64(c.Queued) }},
		{desc("blame", "How many clients waited for it recently."), gauge, func(c *Client) float64 { return c.Blame }},
	}
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Describe describes no metric: which there are depends on the run.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect makes the metrics of a view.
func (c collector) Collect(out chan<- prometheus.Metric) {
	v := c.monitor.View()
	for _, m := range runMetrics() {
		out <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(&v))
	}
	info := prometheus.NewDesc("metasim_run_info", "The run.", []string{"scenario", "seed"}, nil)
	out <- prometheus.MustNewConstMetric(info, gauge, 1, v.Scenario, strconv.FormatUint(v.Seed, 10))
	states := prometheus.NewDesc("metasim_clients", "Clients in each state.", []string{"state"}, nil)
	for state, n := range v.States {
		out <- prometheus.MustNewConstMetric(states, gauge, float64(n), state)
	}
	rows := v.Clients
	if len(rows) > maxSeries {
		rows = slices.SortedFunc(slices.Values(rows), func(a, b Client) int { return strings.Compare(a.Name, b.Name) })[:maxSeries]
	}
	for _, m := range clientMetrics() {
		for i := range rows {
			out <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(&rows[i]), rows[i].Name)
		}
	}
}
