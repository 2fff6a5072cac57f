package quic

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	quicgo "github.com/quic-go/quic-go"

	"metasim/wire/transport/secure"
)

// A Post carries what programs say to each other outside of a run, one way: messages, each on a stream of its own, so that none waits for another that
// the network has lost; and datagrams, which may be lost. Both may overtake each other.
type Post struct {
	quic    *quicgo.Conn
	release func() error
}

// maxPost is the longest message of a Post, in bytes.
const maxPost = 1 << 20

// postStreams is how many messages of one sender may be on their way at once: what is read of all of them is kept until each is whole, so maxPost times as many bytes.
const postStreams = 64

// postConfig lets the listener take streams and datagrams. A peer that is silent for three seconds is gone: who has more to say dials again.
func postConfig(streams int64) *quicgo.Config {
	c := config(-1, silence)
	c.MaxIncomingUniStreams, c.EnableDatagrams, c.RequireStreamCreditRelease = streams, true, false
	return c
}

// DialPost connects to a PostOffice, whose certificate the URL pins, with the token that it admits.
func DialPost(ctx context.Context, url, token string) (*Post, error) {
	hostport, want, err := secure.ParseServer("quic", url)
	if err != nil {
		return nil, err
	}
	to, err := net.ResolveUDPAddr("udp", hostport)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w; use an address that exists", url, err)
	}
	quiet()
	udp, err := net.ListenUDP("udp", nil)
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", url, err)
	}
	s := &socket{transport: &quicgo.Transport{Conn: udp}, users: 1}
	var mismatch error
	trust, err := secure.ClientTLS(want, token, &mismatch)
	if err == nil {
		var q *quicgo.Conn
		if q, err = s.transport.Dial(ctx, to, trust, postConfig(-1)); err == nil {
			return &Post{q, s.release}, nil
		}
	}
	if mismatch != nil {
		err = mismatch
	}
	err = notLetIn(err)
	return nil, errors.Join(fmt.Errorf("dial %s: %w", url, err), s.transport.Close(), udp.Close())
}

// Send sends a message of at most maxPost bytes. It arrives unless the connection breaks first: then a later Send returns why.
func (p *Post) Send(ctx context.Context, message []byte) error {
	stream, err := p.quic.OpenUniStreamSync(ctx)
	if err == nil {
		_, err = stream.Write(message)
	}
	if err != nil {
		return notLetIn(err)
	}
	return stream.Close()
}

// SendDatagram sends what may be lost. It is refused where it is longer than a packet of the network.
func (p *Post) SendDatagram(datagram []byte) error { return notLetIn(p.quic.SendDatagram(datagram)) }

// ReceiveDatagram waits for a datagram that the other end sends back.
func (p *Post) ReceiveDatagram(ctx context.Context) ([]byte, error) {
	b, err := p.quic.ReceiveDatagram(ctx)
	return b, notLetIn(err)
}

// Close ends the connection.
func (p *Post) Close() error { return errors.Join(p.quic.CloseWithError(0, ""), p.release()) }

// A PostOffice receives from many Posts.
type PostOffice struct {
	url  string
	quic *quicgo.Listener
	sock *socket
}

// ListenPost listens at "quic://host:port", where port 0 stands for a free one, with the certificate of a server. refused is called, on any goroutine, with who was not let in,
// and why. One that listens later at the same port, with the same certificate, tells the Posts of the one before that it does not know them.
func ListenPost(url string, s *secure.Server, refused func(who net.Addr, why error)) (*PostOffice, error) {
	hostport, _, _, err := secure.ParseURL("quic", url)
	if err != nil {
		return nil, err
	}
	addr, err := net.ResolveUDPAddr("udp", hostport)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w; use an address of this machine", url, err)
	}
	udp, err := net.ListenUDP("udp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w; use a free port, or 0 for any", url, err)
	}
	return postOn(udp, s, refused)
}

// postOn listens on a packet connection, which is closed with the office.
func postOn(packets net.PacketConn, s *secure.Server, refused func(who net.Addr, why error)) (*PostOffice, error) {
	quiet()
	reset, err := s.ResetKey()
	if err != nil {
		return nil, errors.Join(err, packets.Close())
	}
	endpoint := &quicgo.Transport{Conn: packets, StatelessResetKey: (*quicgo.StatelessResetKey)(&reset)}
	o := &PostOffice{url: s.URL("quic", packets.LocalAddr().String()), sock: &socket{transport: endpoint, users: 1}}
	all := s.TLS()
	all.GetConfigForClient = func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		one := s.TLS()
		verify := one.VerifyConnection
		one.VerifyConnection = func(state tls.ConnectionState) error {
			err := verify(state)
			if err != nil {
				refused(hello.Conn.RemoteAddr(), err)
			}
			return err
		}
		return one, nil
	}
	if o.quic, err = o.sock.transport.Listen(all, postConfig(postStreams)); err != nil {
		return nil, errors.Join(err, endpoint.Close(), packets.Close())
	}
	return o, nil
}

// URL is where Posts dial, with the pin.
func (o *PostOffice) URL() string { return o.url }

// A Caller is who has sent something to a PostOffice, as long as the connection lasts.
type Caller struct {
	quic *quicgo.Conn
	Note any // of whoever takes what the caller sends: used while it takes something, and not by the post
}

// SendDatagram sends back what may be lost. It waits while many are to be sent.
func (c *Caller) SendDatagram(datagram []byte) error { return c.quic.SendDatagram(datagram) }

// Receive calls take with each message and each datagram, until ctx ends; for each connection one call after the other, so that where take waits a sender of much takes its
// turn as the others do. What is longer than maxPost, or stops coming, is not taken.
func (o *PostOffice) Receive(ctx context.Context, take func(b []byte, from *Caller)) error {
	for {
		q, err := o.quic.Accept(ctx)
		if ctx.Err() != nil {
			return errors.Join(o.quic.Close(), o.sock.release())
		}
		if err != nil {
			return err
		}
		var turn sync.Mutex
		caller := &Caller{quic: q}
		inTurn := func(b []byte) {
			turn.Lock()
			defer turn.Unlock()
			take(b, caller)
		}
		go datagrams(ctx, q, inTurn)
		go messages(ctx, q, inTurn)
	}
}

func datagrams(ctx context.Context, q *quicgo.Conn, take func(b []byte)) {
	for {
		b, err := q.ReceiveDatagram(ctx)
		if err != nil {
			return // the sender dials again
		}
		take(b)
	}
}

// messageTime is how long a message may take from its first byte to its last.
const messageTime = 10 * time.Second

func messages(ctx context.Context, q *quicgo.Conn, take func(b []byte)) {
	for {
		stream, err := q.AcceptUniStream(ctx)
		if err != nil {
			return // likewise
		}
		go func() {
			if stream.SetReadDeadline(time.Now().Add(messageTime)) != nil {
				return
			}
			b, err := io.ReadAll(io.LimitReader(stream, maxPost+1))
			if err == nil && len(b) <= maxPost {
				take(b)
				return
			}
			stream.CancelRead(1)
		}()
	}
}
