package live

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"metasim/wire/transport/quic"
)

// mailer begins to send to a server, until ctx ends.
func (s *server) mailer(ctx context.Context, to, at string) *mailer {
	m := &mailer{server: s, to: to, at: at, waits: make(chan letter, mailWaits)}
	go m.run(ctx)
	return m
}

// post has a letter sent. A server that is slow to take them loses its own, and nobody else's.
func (m *mailer) post(l letter) {
	select {
	case m.waits <- l:
	default:
	}
}

func (m *mailer) run(ctx context.Context) {
	var p *quic.Post
	var refused time.Time // when the last try to connect failed
	for {
		select {
		case <-ctx.Done():
			if p != nil {
				_ = p.Close() // the process ends, or its test does
			}
			return
		case l := <-m.waits:
			if p != nil && l.again && m.moved(ctx) {
				_ = p.Close() // nobody is there any more
				p = nil
			}
			if p == nil && time.Since(refused) > dialTime/10 {
				var err error
				if p, err = m.dial(ctx); err != nil {
					m.unreached(ctx, err)
					refused = time.Now()
				}
			}
			if p == nil {
				continue
			}
			if err := m.send(ctx, p, m.together(l)); err != nil {
				m.unreached(ctx, err)
				_ = p.Close() // it is broken already
				p = nil
			}
		}
	}
}

// unreached has the server tell why another one is not reached.
func (m *mailer) unreached(ctx context.Context, why error) {
	if ctx.Err() == nil {
		m.server.later(Event{Event: "unreached", To: m.to, Error: why.Error()})
	}
}

// together returns a letter, and those behind it of which one message is made.
func (m *mailer) together(first letter) []letter {
	all := []letter{first}
	for !first.datagram && m.server.home != nil && len(all) < mostTogether {
		select {
		case l := <-m.waits:
			all = append(all, l)
		default:
			return all
		}
	}
	return all
}

// mostTogether is how many messages are sealed at once.
const mostTogether = 32

func (m *mailer) send(ctx context.Context, p *quic.Post, all []letter) error {
	var texts [][]byte
	for _, l := range all {
		if l.datagram {
			if err := p.SendDatagram(pack(m.server.cfg.Name, l.text...)); err != nil {
				return err
			}
			continue
		}
		texts = append(texts, l.text)
	}
	if len(texts) == 0 {
		return nil
	}
	sealed, err := m.link.seal(m.server.home, m.to, texts)
	if err != nil {
		m.server.home.complain(err)
		return nil // the machine says it again; the key may be another then
	}
	for _, text := range sealed {
		if err := p.Send(ctx, pack(m.server.cfg.Name, text...)); err != nil {
			return err
		}
	}
	return nil
}

// find says where a server is, and its key.
func (m *mailer) find(ctx context.Context) (e entry, err error) {
	if m.server.home != nil {
		if e, err = m.server.home.find(ctx, m.to, true); err != nil {
			return e, err
		}
	}
	if m.at != "" {
		e.url = m.at
	}
	if !strings.Contains(e.url, "://") {
		text, err := os.ReadFile(e.url)
		if err != nil {
			return e, fmt.Errorf("%w; start %s with this --ready-file, or write where it is", err, m.to)
		}
		e.url = strings.TrimSpace(string(text))
	}
	return e, nil
}

// moved reports whether a server was started again since this one has connected to it: it has another address, or another key. The mailer asks this when it sends a message again.
// It does not wait until the connection breaks: that takes seconds, because a busy machine may be silent for as long.
func (m *mailer) moved(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	e, err := m.find(ctx)
	return err == nil && (e.url != m.dialled.url || e.key.ID != m.dialled.key.ID)
}

// dial connects to a server.
func (m *mailer) dial(ctx context.Context) (p *quic.Post, err error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	if m.dialled, err = m.find(ctx); err != nil {
		return nil, err
	}
	m.link.to = m.dialled
	if p, err = quic.DialPost(ctx, m.dialled.url, m.server.cfg.Token); err == nil && m.server.home != nil {
		go m.sayHello(p)
	}
	return p, err
}

// sayHello has the other server know who sends datagrams over a connection, whenever it asks, until the connection ends.
func (m *mailer) sayHello(p *quic.Post) {
	var said time.Time
	for {
		b, err := p.ReceiveDatagram(context.Background())
		if err != nil {
			return
		}
		if len(b) == 1 && b[0] == helloDatagram && time.Since(said) > helloEvery/2 {
			said = time.Now()
			m.post(letter{text: []byte(helloText), again: true}) // the other server may have another key by now
		}
	}
}
