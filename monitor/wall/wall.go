// Package wall shows a cluster of followers on a page while its run goes on: what each node shows, frame by frame, whether the parts agree, and who is the
// controller. What is clicked there (synchronisation off, a slow node, a failure, a touch of the picture) becomes a message of the run, as any input from outside.
//
// A [Wall] is a client of the run and a handler of its page at once.
package wall

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"metasim/client"
	"metasim/federates/follower"
	"metasim/federates/follower/frames"
	"metasim/metasim"
	"metasim/wire/transport/all"
)

// The channels of a wall, which the scenario names too, and the name of its client.
const (
	Client   = "page"
	Wholes   = "wall"
	Commands = "commands"
	Touches  = "touches"
)

// period is how often the client publishes what was clicked, and farewell how long it stays when it has published that the nodes are to leave: so long come their last frames.
const (
	period   = 10 * metasim.Millisecond
	farewell = metasim.Second
)

// A Wall keeps the latest frame for those who look, and what they have clicked for the run.
type Wall struct {
	nodes []string

	mu      sync.Mutex
	shown   shown
	changed chan struct{} // closed when there is another frame
	clicked []click
}

// A click is a message that is to be published.
type click struct {
	channel string
	payload []byte
	quits   bool
}

// shown is a frame as the page gets it.
type shown struct {
	Frame      uint64  `json:"frame"`
	TrackedS   float64 `json:"tracked_s"`
	Sync       bool    `json:"sync"`
	Torn       bool    `json:"torn"`
	Controller string  `json:"controller"`
	Inputs     int     `json:"inputs"` // from outside, so far
	InputAt    uint64  `json:"input_at"`
	Frames     uint64  `json:"frames"` // so far
	TornFrames uint64  `json:"torn_frames"`
	Over       bool    `json:"over"`
	Quits      bool    `json:"quits"` // it can be ended here
	Parts      []part  `json:"parts"`
}

// A part is what a node shows.
type part struct {
	Node     string   `json:"node"`
	State    string   `json:"state"` // the beginning of its hash; empty: nothing came from this node
	Clip     [4]int   `json:"clip"`  // left, top, right, bottom
	Pictures [][]byte `json:"pictures"`
}

// New returns a wall that has seen nothing, for these nodes. quits says that the run is over when they leave: then its page can end it.
func New(nodes []string, quits bool) *Wall {
	return &Wall{nodes: nodes, changed: make(chan struct{}), shown: shown{Quits: quits}}
}

// Join takes part in the run of a server, until it ends.
func (w *Wall) Join(ctx context.Context, url, token string) error {
	return w.takePart(ctx, client.WithTransports(all.Table()), client.WithServer(url), client.WithToken(token))
}

func (w *Wall) takePart(ctx context.Context, options ...client.Option) error {
	b := client.NewBuilder(Client)
	out := map[string]*client.Publication{Commands: b.Publication(Commands), Touches: b.Publication(Touches)}
	if err := b.Subscribe(Wholes, nil); err != nil {
		return err
	}
	c, err := b.Complete(ctx, options...)
	if err != nil {
		return err
	}
	defer w.end()
	last := metasim.Forever
	for tick := period; ; tick = tick.Add(period) {
		messages, err := c.Step(ctx, tick) // it promises to publish nothing before
		if errors.Is(err, client.ErrEnd) || err == nil && tick >= last {
			return c.Leave(ctx)
		}
		for _, m := range messages {
			if err == nil {
				err = w.take(m)
			}
		}
		for _, k := range w.clicks() {
			if err == nil {
				err = out[k.channel].PublishOwned(k.payload)
			}
			if k.quits {
				last = min(last, tick.Add(farewell))
			}
		}
		if err != nil {
			return errors.Join(err, c.Fail(err))
		}
	}
}

// take takes a frame. Most frames have no pictures, or some for which no stream has asked, and are counted: it is not known where such pictures belong.
func (w *Wall) take(m client.Message) error {
	f, err := frames.ReadWhole(m.Payload)
	if err != nil {
		return fmt.Errorf("from client %q: %w", m.From, err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shown.Frames++
	if f.Torn {
		w.shown.TornFrames++
	}
	if len(f.Inputs) > 0 {
		w.shown.Inputs += len(f.Inputs)
		w.shown.InputAt = f.Frame
	}
	if !slices.ContainsFunc(f.Parts, func(p frames.Part) bool { return len(p.Pictures) > 0 && len(p.Streams) > 0 }) {
		return nil
	}
	w.shown.Frame, w.shown.TrackedS, w.shown.Sync, w.shown.Torn, w.shown.Controller = f.Frame, f.Tracked.Seconds(), f.Sync, f.Torn, f.Controller
	w.shown.Parts = nil
	for _, p := range f.Parts {
		shows := part{Node: p.Node, Pictures: p.Pictures}
		if p.State != [32]byte{} {
			shows.State = hex.EncodeToString(p.State[:4])
		}
		if len(p.Streams) > 0 {
			clip := p.Streams[0].Clip
			shows.Clip = [4]int{clip.Min.X, clip.Min.Y, clip.Max.X, clip.Max.Y}
		}
		w.shown.Parts = append(w.shown.Parts, shows)
	}
	w.tell()
	return nil
}

// tell wakes those who look.
func (w *Wall) tell() {
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *Wall) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.shown.Over = true
	w.tell()
}

// Counted returns how many frames have come so far, and how many of them were torn: a run that is ended has no other count.
func (w *Wall) Counted() (frames, torn uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.shown.Frames, w.shown.TornFrames
}

// look returns the latest frame as JSON, whether it is the last one, and what is closed when there is another.
func (w *Wall) look() (text []byte, last bool, changed <-chan struct{}, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text, err = json.Marshal(w.shown)
	return text, w.shown.Over, w.changed, err
}

// clicks returns what was clicked since it was asked last.
func (w *Wall) clicks() []click {
	w.mu.Lock()
	defer w.mu.Unlock()
	k := w.clicked
	w.clicked = nil
	return k
}

// command keeps a command for the run, if it is one.
func (w *Wall) command(c *follower.Command) error {
	if err := c.Check(); err != nil {
		return err
	}
	if c.Node != "" && !slices.Contains(w.nodes, c.Node) {
		return fmt.Errorf("there is no node %s; the nodes are %q", c.Node, w.nodes)
	}
	if c.Quit && !w.shown.Quits {
		return errors.New("the nodes cannot be told to leave here: the run would go on without them; end it on its own page")
	}
	text, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return w.click(click{Commands, text, c.Quit})
}

// mostClicks wait for the run at most: one that is paused publishes none.
const mostClicks = 1000

func (w *Wall) click(k click) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.shown.Over:
		return errors.New("the run is over")
	case len(w.clicked) >= mostClicks:
		return fmt.Errorf("%d clicks wait for the run; is it paused?", mostClicks)
	}
	w.clicked = append(w.clicked, k)
	return nil
}
