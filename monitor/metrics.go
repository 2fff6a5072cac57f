package monitor

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// maxSeries is how many clients have metrics, the first in order of name. Prometheus keeps each for a long time.
const maxSeries = 1000

// collector makes metrics of a view when Prometheus asks.
type collector struct{ monitor *Monitor }

// A metric is one value of a view, or of a client in it.
type metric[T any] struct {
	name, help string
	kind       prometheus.ValueType
	value      func(of *T) float64 // NaN: not known
}

const (
	gauge   = prometheus.GaugeValue
	counter = prometheus.CounterValue
)

var runMetrics = []metric[View]{
	{"simulated_seconds", "Simulated time: everything before it has happened.", gauge, func(v *View) float64 { return v.Now.Seconds }},
	{"end_simulated_seconds", "Simulated time at which the run ends, if it has an end.", gauge, func(v *View) float64 {
		if v.End == nil {
			return math.NaN()
		}
		return v.End.Seconds
	}},
	{"eta_seconds", "Real time until the end of the run if it goes on as fast as in the last minute.", gauge, func(v *View) float64 {
		if v.EtaS == nil {
			return math.NaN()
		}
		return *v.EtaS
	}},
	{"wall_seconds", "Real time since all have joined, without pauses.", gauge, func(v *View) float64 { return v.WallS }},
	{"realtime_factor", "Simulated seconds per second, recently.", gauge, func(v *View) float64 { return v.Factor }},
	{"paused", "1 while the run is paused.", gauge, func(v *View) float64 {
		if v.State == "paused" || v.State == "pausing" {
			return 1
		}
		return 0
	}},
	{"grants_total", "Authorizations.", counter, func(v *View) float64 { return float64(v.Grants) }},
	{"messages_sent_total", "Publishes.", counter, func(v *View) float64 { return float64(v.Sent) }},
	{"messages_delivered_total", "Messages that recipients have handled.", counter, func(v *View) float64 { return float64(v.Delivered) }},
	{"messages_dropped_total", "Messages that links have lost.", counter, func(v *View) float64 { return float64(v.Dropped) }},
}

var clientMetrics = []metric[Client]{
	{"simulated_seconds", "The client's last activity.", gauge, func(c *Client) float64 { return c.At.Seconds }},
	{"blocked_seconds_total", "Real time for which it waited to be authorized.", counter, func(c *Client) float64 { return c.BlockedS }},
	{"busy_seconds_total", "Real time for which it did not wait.", counter, func(c *Client) float64 { return c.BusyS }},
	{"messages_sent_total", "Its publishes.", counter, func(c *Client) float64 { return float64(c.Sent) }},
	{"messages_delivered_total", "Messages that it has handled.", counter, func(c *Client) float64 { return float64(c.Delivered) }},
	{"grants_total", "Its authorizations.", counter, func(c *Client) float64 { return float64(c.Grants) }},
	{"queued_messages", "Messages that wait until they may be delivered to it.", gauge, func(c *Client) float64 { return float64(c.Queued) }},
	{"blame", "How many clients waited for it recently.", gauge, func(c *Client) float64 { return c.Blame }},
}

// Describe describes no metric: which there are depends on the run.
func (collector) Describe(chan<- *prometheus.Desc) {}

// Collect makes the metrics of a view.
func (c collector) Collect(out chan<- prometheus.Metric) {
	v := c.monitor.View()
	for _, m := range runMetrics {
		if x := m.value(&v); !math.IsNaN(x) {
			out <- prometheus.MustNewConstMetric(prometheus.NewDesc("metasim_"+m.name, m.help, nil, nil), m.kind, x)
		}
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
	held := prometheus.NewDesc("metasim_held_seconds_total", "Real time for which clients waited for this one, summed over them.", []string{"holder"}, nil)
	for i := range rows {
		out <- prometheus.MustNewConstMetric(held, counter, rows[i].HeldS, rows[i].Name)
	}
	for _, m := range clientMetrics {
		desc := prometheus.NewDesc("metasim_client_"+m.name, m.help, []string{"client"}, nil)
		for i := range rows {
			out <- prometheus.MustNewConstMetric(desc, m.kind, m.value(&rows[i]), rows[i].Name)
		}
	}
}
