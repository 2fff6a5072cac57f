package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"metasim/internal/suggest"
	"metasim/metasim"
	"metasim/monitor"
	"metasim/server"
)

// progressKinds are the values of --progress.
var progressKinds = []string{"auto", "plain", "json", "none"}

// check refuses a value of --progress that there is not.
func (f *liveFlags) check() error {
	if slices.Contains(progressKinds, f.progress) {
		return nil
	}
	return fmt.Errorf("--progress is %q; %s", f.progress, suggest.Word(f.progress, progressKinds))
}

// kind returns how progress is shown. Where a screen was asked for and there is no terminal, lines stand for it.
func (f *liveFlags) kind(show func(*monitor.Monitor)) string {
	if f.progress == "auto" && f.tui && show == nil {
		return "plain"
	}
	return f.progress
}

// A progress shows how far a run has come: on a terminal in one line that is rewritten; elsewhere, if that is wanted, in a new line now
// and then, and in a last one when the run is over.
type progress struct {
	w     io.Writer
	until metasim.Time // 0: no end
	kind  string       // as --progress
	first time.Duration
	done  chan struct{} // closed by stop
	ended sync.WaitGroup
	mu    sync.Mutex // held while writing
}

const (
	// rewriteEvery is the time between two versions of the line on a terminal.
	rewriteEvery = 200 * time.Millisecond
	// The time between two lines is firstLine at first, and grows to lineEvery.
	firstLine = time.Second
	lineEvery = 10 * time.Second
	// clearLine clears the line of a terminal on which the cursor is.
	clearLine = "\r\x1b[K"
)

func newProgress(w io.Writer, until metasim.Time, kind string) *progress {
	return &progress{w: w, until: until, kind: kind, first: firstLine, done: make(chan struct{})}
}

// A progressSource is the server whose run is shown.
type progressSource interface {
	Time() metasim.Time
	Progress() server.Progress
}

// start begins to show how far a run has come, if it is to be shown.
func (p *progress) start(source progressSource) {
	rewrites := p.kind == "auto" && canRewrite(p.w)
	if !rewrites && p.kind != "plain" && p.kind != "json" {
		return
	}
	show := func(at reached) {
		switch {
		case rewrites:
			line := at.line()
			p.print(clearLine + line[:min(len(line), columns(p.w)-1)])
		case p.kind == "json":
			p.print(at.json() + "\n")
		default:
			p.print(at.line() + "\n")
		}
	}
	every := p.first
	if rewrites {
		every = rewriteEvery
	}
	began := time.Now()
	p.ended.Go(func() {
		timer := time.NewTimer(every)
		defer timer.Stop()
		var paused time.Duration
		look := func() reached {
			at := reached{now: source.Time(), until: p.until}
			if at.now == 0 { // waiting for clients is not time of the simulation
				began = time.Now()
			}
			now := source.Progress()
			at.elapsed, at.paused, at.over = time.Since(began)-now.Paused, now.Paused > paused, now.Over
			paused = now.Paused
			return at
		}
		for {
			select {
			case <-timer.C:
				show(look())
				if !rewrites {
					every = min(2*every, lineEvery)
				}
				timer.Reset(every)
			case <-p.done:
				if rewrites {
					p.print(clearLine)
				} else {
					at := look()
					at.over = true
					show(at)
				}
				return
			}
		}
	})
}

// say prints a line above the one that is rewritten.
func (p *progress) say(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if canRewrite(p.w) {
		fmt.Fprint(raw(p.w), clearLine)
	}
	fmt.Fprintln(p.w, text)
}

func (p *progress) print(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprint(raw(p.w), text)
}

func (p *progress) stop() {
	close(p.done)
	p.ended.Wait()
}

// A reached is how far a run has come.
type reached struct {
	now, until   metasim.Time // until is 0 where there is no end
	elapsed      time.Duration
	paused, over bool
}

// state is the state of the run in a word.
func (r reached) state() string {
	switch {
	case r.over:
		return "over"
	case r.now == metasim.Forever:
		return "finishing"
	case r.now == 0:
		return "starting"
	case r.paused:
		return "paused"
	}
	return "running"
}

// rest is the time until the end, if the run goes on as fast as it was so far; false where that is not known.
func (r reached) rest() (time.Duration, bool) {
	if s := r.state(); s != "running" && s != "paused" || r.now >= r.until {
		return 0, false
	}
	return time.Duration(float64(r.elapsed) * float64(r.until-r.now) / float64(r.now)), true
}

// line says it in words.
func (r reached) line() string {
	state := r.state()
	switch state {
	case "over":
		if r.now == metasim.Forever || r.now >= r.until {
			return fmt.Sprintf("over after %s", secondsText(r.elapsed.Seconds()))
		}
	case "starting", "finishing":
		return state
	}
	line := fmt.Sprintf("%.3f s", r.now.Seconds())
	if r.until > 0 {
		line = fmt.Sprintf("%.3f of %.3f s   %3.0f %%", r.now.Seconds(), r.until.Seconds(), 100*float64(r.now)/float64(r.until))
	}
	switch state {
	case "paused":
		return line + "   paused: metasim ctl resume lets it go on"
	case "over":
		return line + fmt.Sprintf("   over after %s", secondsText(r.elapsed.Seconds()))
	}
	line += fmt.Sprintf("   %s x real time   %v so far", factorText(r.now.Seconds()/r.elapsed.Seconds()), r.elapsed.Round(100*time.Millisecond))
	if rest, known := r.rest(); known {
		line += fmt.Sprintf(", %v to go", rest.Round(100*time.Millisecond))
	}
	return line
}

// json says it as a JSON object.
func (r reached) json() string {
	type object struct {
		State      string   `json:"state"` // starting, running, paused, finishing or over
		SimulatedS *float64 `json:"simulated_s,omitempty"`
		EndS       *float64 `json:"end_s,omitempty"`
		ElapsedS   float64  `json:"elapsed_s"`
		Factor     *float64 `json:"factor,omitempty"` // simulated seconds per second, so far
		EtaS       *float64 `json:"eta_s,omitempty"`
	}
	o := object{State: r.state(), ElapsedS: r.elapsed.Seconds()}
	if r.now != metasim.Forever {
		s := r.now.Seconds()
		o.SimulatedS = &s
		if r.now > 0 && r.elapsed > 0 {
			factor := s / o.ElapsedS
			o.Factor = &factor
		}
	}
	if r.until > 0 {
		s := r.until.Seconds()
		o.EndS = &s
	}
	if rest, known := r.rest(); known {
		s := rest.Seconds()
		o.EtaS = &s
	}
	text, err := json.Marshal(o)
	if err != nil {
		return "{}" // there is no number that JSON does not have
	}
	return string(text)
}
