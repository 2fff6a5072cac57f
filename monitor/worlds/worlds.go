// Package worlds shows the worlds of a run from above on a page while the run goes on: what they publish as maps, each drawn as the files of metasim world run --map are.
//
// A [Page] observes the run and is a handler of its page at once. What it shows changes nothing in the run.
package worlds

import (
	"bytes"
	"embed"
	"encoding/json"
	"net/http"
	"slices"
	"sync"

	"metasim/federates/levels/worldmap"
	"metasim/metasim"
	"metasim/monitor"
)

//go:embed page
var page embed.FS

// A Page keeps the latest maps for those who look.
type Page struct {
	mu      sync.Mutex
	worlds  []world
	over    bool
	changed chan struct{} // closed when there is more
}

// A world is what one channel of maps has brought.
type world struct {
	channel string
	drawing worldmap.Drawing
	before  *worldmap.Layout  // of the last frame
	frames  []*worldmap.Frame // decoded: the last ones
	waiting [][]byte          // behind them. Nobody has looked at them yet
	wrong   string            // why a map cannot be shown; then nothing more is
}

// New returns a page for the maps on these channels, which has seen nothing.
func New(channels []string) *Page {
	p := &Page{changed: make(chan struct{})}
	for _, c := range channels {
		p.worlds = append(p.worlds, world{channel: c})
	}
	return p
}

// mostWaiting is how many maps are kept while nobody looks: those of the trails, and one with the layout.
const mostWaiting = worldmap.TrailFrames + 1

// beginning is that of a map with a layout.
var beginning = []byte(`{"layout":`)

// Observe implements server.Observer: it keeps maps, and draws nothing, as the run waits for it.
func (p *Page) Observe(_ int64, ev metasim.Event, _ []metasim.Effect) error {
	send, is := ev.(*metasim.Send)
	if !is {
		return nil
	}
	i := slices.IndexFunc(p.worlds, func(w world) bool { return w.channel == send.Channel })
	if i < 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	w := &p.worlds[i]
	switch {
	case bytes.HasPrefix(send.Payload, beginning):
		w.waiting = w.waiting[:0]
	case len(w.waiting) >= mostWaiting: // the first one may have the layout
		w.waiting = slices.Delete(w.waiting, 1, 2)
	}
	w.waiting = append(w.waiting, bytes.Clone(send.Payload))
	p.tell()
	return nil
}

// tell wakes those who look.
func (p *Page) tell() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// End says that the run is over.
func (p *Page) End() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	p.tell()
}

// shown is a world as the page gets it.
type shown struct {
	Name  string `json:"name"`
	SVG   string `json:"svg"`
	Error string `json:"error,omitempty"`
}

// look returns all worlds as JSON.
func (p *Page) look() (text []byte, last bool, changed <-chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := []shown{}
	for i := range p.worlds {
		if s := p.worlds[i].draw(); s.Name != "" || s.Error != "" {
			all = append(all, s)
		}
	}
	text, err = json.Marshal(map[string]any{"worlds": all, "over": p.over})
	return text, p.over, p.changed, err
}

// draw decodes what is waiting, and draws the last of it.
func (w *world) draw() shown {
	for _, b := range w.waiting {
		f, err := worldmap.Decode(b, w.before)
		if err != nil {
			w.wrong = w.channel + ": " + err.Error()
			break
		}
		w.drawing.Include(f)
		w.frames, w.before = append(w.frames, f), f.Layout
	}
	w.waiting = nil
	w.frames = w.frames[max(0, len(w.frames)-mostWaiting):]
	if len(w.frames) == 0 || w.wrong != "" {
		return shown{Error: w.wrong}
	}
	f := w.frames[len(w.frames)-1]
	return shown{Name: f.Layout.World, SVG: w.drawing.SVG(w.frames, false)}
}

// Handler serves the page at /, and the maps as server-sent events at /events. Who may see them is for the caller to check.
func (p *Page) Handler() http.Handler {
	mux := http.NewServeMux()
	monitor.HandlePage(mux, page, "maps", p.look)
	mux.HandleFunc("GET /drawing.css", func(rw http.ResponseWriter, _ *http.Request) {
		monitor.WriteFile(rw, "drawing.css", []byte(worldmap.Style))
	})
	return mux
}
