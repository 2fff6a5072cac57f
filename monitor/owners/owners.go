// Package owners shows on a page who owns which entity in a world that several simulation servers compute, and who moves it, while the run goes on.
//
// A [Page] is a client of the run and a handler of its page at once.
package owners

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"metasim/client"
	"metasim/federates/authority/shard"
	"metasim/metasim"
	"metasim/monitor"
	"metasim/wire/transport/all"
)

// Channel is where simulation servers publish what they own.
const Channel = "owners"

//go:embed page
var page embed.FS

// A Page keeps for those who look what each server said last.
type Page struct {
	mu      sync.Mutex
	shown   shown
	changed chan struct{} // closed when there is more
}

// shown is a world as the page gets it.
type shown struct {
	NS      metasim.Time              `json:"ns"`
	Servers map[string]*shard.Picture `json:"servers"`
	Moved   int                       `json:"moved"` // owners that changed, so far
	Over    bool                      `json:"over"`
	owner   map[string]string         // by entity
}

// New returns a page that has seen nothing.
func New() *Page {
	return &Page{shown: shown{Servers: map[string]*shard.Picture{}, owner: map[string]string{}}, changed: make(chan struct{})}
}

// Join takes part in the run of a server as the client of that name, until it ends.
func (p *Page) Join(ctx context.Context, name, url, token string) error {
	b := client.NewBuilder(name)
	if err := b.Subscribe(Channel, nil); err != nil {
		return err
	}
	c, err := b.Complete(ctx, client.WithTransports(all.Table()), client.WithServer(url), client.WithToken(token))
	if err != nil {
		return err
	}
	defer p.end()
	for {
		messages, err := c.Next(ctx, metasim.Forever)
		if errors.Is(err, client.ErrEnd) {
			return c.Leave(ctx)
		}
		for _, m := range messages {
			if err == nil {
				err = p.take(m)
			}
		}
		if err != nil {
			return errors.Join(err, c.Fail(err))
		}
	}
}

// take takes what a server owns.
func (p *Page) take(m client.Message) error {
	var picture shard.Picture
	if err := json.Unmarshal(m.Payload, &picture); err != nil {
		return fmt.Errorf("from client %q: %w", m.From, err)
	}
	p.Take(&picture)
	return nil
}

// Take takes what a server owns, from whoever has it: of a world that is no run the page takes part in nothing.
func (p *Page) Take(picture *shard.Picture) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown.NS = max(p.shown.NS, picture.NS)
	p.shown.Servers[picture.Server] = picture
	for _, e := range picture.Owns {
		if before, known := p.shown.owner[e.Entity]; known && before != picture.Server {
			p.shown.Moved++
		}
		p.shown.owner[e.Entity] = picture.Server
	}
	p.tell()
}

// tell wakes those who look.
func (p *Page) tell() {
	close(p.changed)
	p.changed = make(chan struct{})
}

func (p *Page) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shown.Over = true
	p.tell()
}

func (p *Page) look() (text []byte, last bool, changed <-chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text, err = json.Marshal(p.shown)
	return text, p.shown.Over, p.changed, err
}

// Handler serves the page at /, and what it shows as server-sent events at /events. Who may see it is for the caller to check.
func (p *Page) Handler() http.Handler {
	mux := http.NewServeMux()
	monitor.HandlePage(mux, page, "world", p.look)
	return mux
}
