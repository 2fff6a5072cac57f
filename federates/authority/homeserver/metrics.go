package homeserver

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// counts are what Prometheus asks for.
type counts struct {
	mu       *sync.Mutex
	requests map[[2]string]uint64 // by method and status
	problems map[string]uint64    // by name
	number   uint64
	seconds  float64
}

func newCounts() counts {
	return counts{mu: &sync.Mutex{}, requests: map[[2]string]uint64{}, problems: map[string]uint64{}}
}

// methods are those that are counted by name: a client may make others up.
var methods = []string{"GET", "HEAD", "POST", "PUT", "DELETE"}

func (c *counts) add(method string, status int, outcome string, took time.Duration) {
	if !slices.Contains(methods, method) {
		method = "other"
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests[[2]string{method, fmt.Sprint(status)}]++
	if outcome != "ok" {
		c.problems[outcome]++
	}
	c.number++
	c.seconds += took.Seconds()
}

func (c *counts) write(b *strings.Builder, head func(name, kind, help string) string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	name := head("requests_total", "counter", "Requests below /v1/.")
	for _, k := range slices.SortedFunc(maps.Keys(c.requests), func(x, y [2]string) int { return slices.Compare(x[:], y[:]) }) {
		fmt.Fprintf(b, "%s{method=%q,status=%q} %d\n", name, k[0], k[1], c.requests[k])
	}
	name = head("problems_total", "counter", "Requests that were refused, by the name of the problem.")
	for _, k := range slices.Sorted(maps.Keys(c.problems)) {
		fmt.Fprintf(b, "%s{problem=%q} %d\n", name, k, c.problems[k])
	}
	name = head("request_seconds", "summary", "Real time from a request to its answer.")
	fmt.Fprintf(b, "%s_sum %g\n%s_count %d\n", name, c.seconds, name, c.number)
}
