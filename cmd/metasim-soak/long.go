package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"sync"
	"time"

	"metasim/run"
	"metasim/scenarios"
	"metasim/server"
)

// The one long run: sources that send all the time, and sinks that hear them all, so that each message is delivered as often as there are sinks. It has
// no journal, which would need a hundred bytes of disk for each message.
const (
	sources = 4
	sinks   = 2
)

// longRun is the scenario of so many deliveries.
func longRun(messages uint64) string {
	text := "name: soak\nmemory: 256KiB\nclients:\n" // a small bound: what is on its way differs from moment to moment, and hides growth
	for i := range sinks {
		text += fmt.Sprintf("  - {name: sink%d, model: sink, with: {channels: [\".*\"]}}\n", i)
	}
	for i := range sources {
		text += fmt.Sprintf("  - {name: source%d, model: source, with: {channel: S%d, period: 1us, count: %d}}\n", i, i, messages/sources/sinks)
	}
	return text + "links:\n  - {delay: {uniform: {min: 1us, max: 20us}}}\n"
}

// A measure is what the memory of this process was after so many seconds: what is in use, after garbage was collected.
type measure struct{ seconds, bytes float64 }

// A gauge measures the memory of this process while a run goes on. Each time it pauses the run, as what is on its way and what is allocated while
// garbage is collected differ from moment to moment by more than what may grow.
type gauge struct {
	began    time.Time
	every    time.Duration
	messages uint64    // of the whole run
	told     time.Time // when it last said how far the run is
	measures []measure // at most, and with room for, mostMeasures: it must not grow itself
	err      error
}

// mostMeasures is how many measures a gauge keeps. When it has so many it drops every second one, and measures half as often.
const mostMeasures = 8192

// tellEach is how often a gauge says how far the run is.
const tellEach = time.Minute

func newGauge(every time.Duration, messages uint64) *gauge {
	now := time.Now()
	return &gauge{began: now, told: now, every: every, messages: messages, measures: make([]measure, 0, mostMeasures)}
}

// watch measures until done is closed or the run is over.
func (g *gauge) watch(s *server.Server, done <-chan struct{}) {
	timer := time.NewTimer(g.every)
	defer timer.Stop()
	for {
		select {
		case <-done:
			return
		case <-timer.C:
		}
		if !standsStill(s) {
			return
		}
		g.add(measure{time.Since(g.began).Seconds(), inUse()})
		if time.Since(g.told) >= tellEach {
			g.told = time.Now()
			fmt.Fprintln(os.Stderr, "metasim-soak:", progress(s.Snapshot().Totals.Delivered, g.messages, g.told.Sub(g.began))+";", growth(g.measures))
		}
		if err := s.Resume(); err != nil {
			if !errors.Is(err, server.ErrOver) {
				g.err = err
			}
			return
		}
		timer.Reset(g.every)
	}
}

// standsStill pauses a run, and waits until nothing can happen in it. It reports false if the run is over before.
func standsStill(s *server.Server) bool {
	if err := s.Pause(); err != nil {
		return false // there is no other error than ErrOver
	}
	for {
		switch p := s.Progress(); {
		case p.Over:
			return false
		case p.Still:
			return true
		}
		time.Sleep(time.Millisecond) // nothing tells that a run stands still
	}
}

// progress says how much of a run there was after a time, and how long the rest takes at that rate.
func progress(delivered, messages uint64, after time.Duration) string {
	rate := float64(delivered) / after.Seconds()
	return fmt.Sprintf("%d of %d messages delivered in %.0f s, %.0f a second; the rest takes %.0f s at that rate", delivered, messages, after.Seconds(), rate,
		float64(messages-delivered)/rate)
}

func (g *gauge) add(m measure) {
	if len(g.measures) == mostMeasures {
		for i := range mostMeasures / 2 {
			g.measures[i] = g.measures[2*i]
		}
		g.measures, g.every = g.measures[:mostMeasures/2], 2*g.every
	}
	g.measures = append(g.measures, m)
}

// long carries out the one long run. It fails if the memory has grown by a hundredth in an hour or more. Interrupted, it says what there was so far.
func long(ctx context.Context, messages uint64, every time.Duration, place string) error {
	sc, _, err := scenarios.Parse("soak.metasim.yaml", []byte(longRun(messages)), scenarios.Overrides{})
	if err != nil {
		return err
	}
	g, done := newGauge(every, messages), make(chan struct{})
	var measuring sync.WaitGroup
	dir := filepath.Join(place, "long")
	out, err := run.Scenario(ctx, sc, run.Options{Out: dir, NoJournal: true, NoTrace: true, Watch: func(s *server.Server) {
		measuring.Go(func() { g.watch(s, done) })
	}})
	close(done)
	measuring.Wait()
	if err = errors.Join(err, g.err); err != nil {
		return err
	}
	fmt.Printf("one run: %d messages delivered in %.0f s, %.0f a second; %s\n", out.Messages.Delivered, out.WallS,
		float64(out.Messages.Delivered)/out.WallS, growth(g.measures))
	if !out.OK {
		return out.Err
	}
	if want := messages / sources / sinks * sources * sinks; out.Messages.Delivered != want {
		return fmt.Errorf("%d messages were delivered, not %d", out.Messages.Delivered, want)
	}
	if slope, deviation, _ := slopeOf(g.measures); slope-2*deviation > 1 {
		return errors.New("the memory grows")
	}
	return os.RemoveAll(dir)
}

// inUse returns the bytes of this process that are in use: of the heap, what the last collection of garbage has kept. What was allocated since then
// is not counted. It collects twice: of a sync.Pool the first collection keeps what the second one frees.
func inUse() float64 {
	runtime.GC()
	runtime.GC()
	in := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(in)
	return float64(in[0].Value.Uint64() + in[1].Value.Uint64())
}

// A slope needs so many measures in so many seconds: at first caches fill.
const (
	fewest   = 2 * blocks
	shortest = 60
)

// growth says how the memory grew.
func growth(measures []measure) string {
	slope, deviation, mean := slopeOf(measures)
	if math.IsNaN(slope) {
		return fmt.Sprintf("the memory was measured %d times, and %d in %d seconds are needed to say whether it grows", len(measures), fewest, shortest)
	}
	return fmt.Sprintf("the memory in use was %.1f MB, and grew by %.2f ± %.2f %% an hour (%d measures)", mean/1e6, slope, deviation, len(measures))
}

// blocks is in how many parts of equal length the measures are taken together. What is in use at one moment is like what is in use a second later, so
// measures alone would make a line look surer than it is; and the median of a part does not follow a single one that is far off.
const blocks = 24

// medians takes measures together.
func medians(measures []measure) []measure {
	parts := make([]measure, min(blocks, len(measures)))
	for i := range parts {
		part := slices.Clone(measures[i*len(measures)/len(parts) : (i+1)*len(measures)/len(parts)])
		middle := part[len(part)/2].seconds
		slices.SortFunc(part, func(a, b measure) int { return cmp.Compare(a.bytes, b.bytes) })
		parts[i] = measure{middle, part[len(part)/2].bytes}
	}
	return parts
}

// slopeOf fits a line to the measures, without the first quarter, in which caches fill. It returns by how many hundredths of the mean the memory
// grows in an hour, and the standard deviation of that; NaN where there are too few measures, or in too short a time.
func slopeOf(measures []measure) (slope, deviation, mean float64) {
	if n := len(measures); n < fewest || measures[n-1].seconds-measures[0].seconds < shortest {
		return math.NaN(), math.NaN(), math.NaN()
	}
	measures = medians(measures[len(measures)/4:])
	n := float64(len(measures))
	var at float64
	for _, m := range measures {
		at, mean = at+m.seconds/n, mean+m.bytes/n
	}
	var xx, xy, rest float64
	for _, m := range measures {
		xx, xy = xx+(m.seconds-at)*(m.seconds-at), xy+(m.seconds-at)*(m.bytes-mean)
	}
	for _, m := range measures {
		e := m.bytes - mean - xy/xx*(m.seconds-at)
		rest += e * e
	}
	scale := 3600 / mean * 100
	return xy / xx * scale, math.Sqrt(rest/(n-2)/xx) * scale, mean
}
