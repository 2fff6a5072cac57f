package live

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"metasim/federates/authority/pieces"
	"metasim/federates/authority/shard"
	"metasim/metasim"
	"metasim/wire/transport/quic"
)

const (
	lookEvery   = time.Second            // from one asking to the next
	lookTime    = 3 * time.Second        // for which who has asked is shown pictures
	pictureTime = 100 * time.Millisecond // from one picture to the next
	mostLookers = 16
)

// A looker is somebody who looks at a server.
type looker struct {
	until time.Time
	shows chan []byte // a picture that is to be sent
}

// A CrowdError: so many look at a server that one more would cost it too much.
type CrowdError struct{ From string }

func (e *CrowdError) Error() string {
	return fmt.Sprintf("%s wants to look, and %d do already; have one of them end", e.From, mostLookers)
}

// letLook shows somebody pictures for a while.
func (s *server) letLook(ctx context.Context, p parcel) error {
	l := s.lookers[p.caller]
	switch {
	case s.world == nil:
		return &WorldlessError{p.from}
	case l == nil && len(s.lookers) >= mostLookers:
		return &CrowdError{p.from}
	case l == nil:
		l = &looker{shows: make(chan []byte, 1)}
		s.lookers[p.caller] = l
		go showAll(ctx, p.caller, l.shows)
	}
	l.until = time.Now().Add(lookTime)
	return nil
}

// showAll sends pictures, until there are no more or the connection breaks.
func showAll(ctx context.Context, to *quic.Caller, shows <-chan []byte) {
	split := pieces.NewSplitter(uint64(time.Now().UnixNano()))
	for {
		select {
		case <-ctx.Done():
			return
		case picture, more := <-shows:
			if !more {
				return
			}
			all, err := split.Split(picture, maxDatagram)
			if err != nil {
				continue // so many entities fit into no picture
			}
			for _, b := range all {
				if to.SendDatagram(append([]byte{pictureDatagram}, b...)) != nil {
					return // who looks asks again
				}
			}
		}
	}
}

// show sends a picture to those who look, if that is due. It is called when the world has done its tick at now.
func (s *server) show(now metasim.Time) error {
	if len(s.lookers) == 0 || time.Since(s.shown) < pictureTime {
		return nil
	}
	s.shown = time.Now()
	picture, err := json.Marshal(s.world.shard.Show(now))
	for caller, l := range s.lookers {
		if s.shown.After(l.until) {
			close(l.shows)
			delete(s.lookers, caller)
			continue
		}
		select {
		case l.shows <- picture:
		default: // it is slow, and sees the next one
		}
	}
	return err
}

// Look has a server show what it owns, until ctx ends. find says where the server is, before each connection; take is called with each picture, trouble with what keeps it
// from coming, once while it lasts.
func Look(ctx context.Context, token string, find func(context.Context) (url string, err error), take func(*shard.Picture), trouble func(error)) {
	last := ""
	for ctx.Err() == nil {
		err := lookOnce(ctx, token, find, func(p *shard.Picture) { last = ""; take(p) })
		if err != nil && ctx.Err() == nil && err.Error() != last {
			last = err.Error()
			trouble(err)
		}
		sleep(ctx, again)
	}
}

// lookOnce looks until the connection breaks.
func lookOnce(ctx context.Context, token string, find func(context.Context) (string, error), take func(*shard.Picture)) error {
	dial, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	url, err := find(dial)
	if err != nil {
		return err
	}
	p, err := quic.DialPost(dial, url, token)
	if err != nil {
		return err
	}
	defer p.Close() // it is broken already, or nobody looks any more
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		for ctx.Err() == nil && p.SendDatagram(pack("a page", lookDatagram)) == nil {
			sleep(ctx, lookEvery)
		}
	}()
	for join := (pieces.Joiner{}); ; {
		b, err := p.ReceiveDatagram(ctx)
		if err != nil {
			return err
		}
		if len(b) == 0 || b[0] != pictureDatagram {
			continue
		}
		text, err := join.Join(b[1:])
		if err != nil || text == nil {
			continue // another picture follows
		}
		var picture shard.Picture
		if err := json.Unmarshal(text, &picture); err != nil {
			return fmt.Errorf("%s has sent what is no picture: %w", url, err)
		}
		take(&picture)
	}
}
