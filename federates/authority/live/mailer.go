package live

import (
	"context"
	"os"
	"strings"
	"time"

	"metasim/wire/transport/quic"
)

// A mailer sends to one server. What it cannot send it drops: the machine says it again.
type mailer struct{ waits chan letter }

// A letter is what one server sends to another.
type letter struct {
	text     []byte
	datagram bool // it may be lost
}

const (
	mailWaits = 256             // messages that wait at most
	dialTime  = 2 * time.Second // for a connection
)

func newMailer(ctx context.Context, at, token string) *mailer {
	m := &mailer{make(chan letter, mailWaits)}
	go m.run(ctx, at, token)
	return m
}

func (m *mailer) post(l letter) {
	select {
	case m.waits <- l:
	default:
	}
}

func (m *mailer) run(ctx context.Context, at, token string) {
	var p *quic.Post
	for {
		select {
		case <-ctx.Done():
			if p != nil {
				_ = p.Close() // the process ends, or its test does
			}
			return
		case l := <-m.waits:
			if p == nil {
				p = dial(ctx, at, token)
			}
			if p != nil && send(ctx, p, l) != nil {
				_ = p.Close() // it is broken already
				p = nil
			}
		}
	}
}

func send(ctx context.Context, p *quic.Post, l letter) error {
	if l.datagram {
		return p.SendDatagram(l.text)
	}
	return p.Send(ctx, l.text)
}

// dial connects to a server; nil: there is none now.
func dial(ctx context.Context, at, token string) *quic.Post {
	url := at
	if !strings.Contains(at, "://") {
		text, err := os.ReadFile(at)
		if err != nil {
			return nil
		}
		url = strings.TrimSpace(string(text))
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	p, err := quic.DialPost(ctx, url, token)
	if err != nil {
		return nil
	}
	return p
}
