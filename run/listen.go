package run

import (
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"metasim/wire/transport/all"
	"metasim/wire/transport/mem"
	"metasim/wire/transport/secure"
)

// listen listens as the options say. The token that it chooses keeps other users of this host out of the run, even on the
// loopback interface. A server that starts no process and listens at a private socket needs none.
func listen(o *Options, inside, outside bool, peerTimeout time.Duration, bound boundTokens, before *doors) (*listeners, error) {
	l := &listeners{token: o.Token, proxies: rand.Text(), bound: bound}
	if before != nil {
		l.made = before.Made
	}
	if before == nil && l.token == "" && (bound.byName != nil || !privateServe(o)) {
		l.token = rand.Text()
	}
	if o.far() {
		l.started = rand.Text()
	}
	if inside {
		l.inside = mem.NewNet()
	}
	if outside {
		if err := l.listenOutside(o); err != nil {
			return nil, errors.Join(fmt.Errorf("clients cannot join: %w", err), l.close())
		}
		l.outside.SetPeerTimeout(peerTimeout)
	}
	return l, nil
}

// privateServe reports whether only this user can reach the server, which starts no process either.
func privateServe(o *Options) bool {
	return o.Serve && slices.Contains([]string{Transports[0], "unix", "shm"}, o.Transport)
}

func (l *listeners) listenOutside(o *Options) (err error) {
	scheme := o.Transport
	if scheme == Transports[0] {
		scheme = "unix" // for commands
	}
	if named, address, found := strings.Cut(o.Listen, "://"); found {
		return fmt.Errorf("%s names a transport: use --transport %s --listen %s", o.Listen, named, address)
	}
	beyond := o.beyondHost()
	switch {
	case scheme == "tcp" && beyond && o.Insecure:
		o.Log.Warn("other hosts can reach " + o.Listen + ", and nothing there is encrypted: who sees the traffic learns the join token and all messages; " +
			"leave --insecure out for TLS")
	case scheme == "tcp" && (beyond || o.Certificate != (secure.Files{})):
		scheme = "tls"
	}
	var identity *secure.Server
	if scheme == "tls" || scheme == "quic" {
		if identity, err = l.identity(o, beyond && scheme == "quic"); err != nil {
			return err
		}
	}
	if l.outside, err = all.TableOf(identity).Listen(scheme, o.Listen); err == nil && l.outside.Unsupported != nil {
		o.Log.Warn("this system does not support transport "+scheme+"; the run goes over "+l.outside.URL(), "cause", l.outside.Unsupported)
	}
	return err
}

// identity is how the listener shows who it is. Whoever shows the certificate that follows from a token, or one of the authority of the
// options, is let in; others only where nobody must show one.
func (l *listeners) identity(o *Options, mutual bool) (*secure.Server, error) {
	var identity *secure.Server
	var err error
	if l.made != nil {
		identity, err = secure.Again(l.made)
	} else {
		identity, err = secure.NewServer(o.Certificate)
	}
	if err != nil {
		return nil, err
	}
	if l.made, err = identity.Made(); err != nil {
		return nil, err
	}
	tokens := append(slices.Collect(maps.Values(l.bound.byName)), l.token)
	if l.started != "" {
		tokens = append(tokens, l.started)
	}
	return identity, identity.Admit(mutual || o.Certificate.CA != "", tokens...)
}

// manyDropped is how many datagrams a run may send again before that is worth a word.
const manyDropped = 100

// overflows says, when all is closed, that the receive buffer of QUIC was too small for the run, if it was.
func (l *listeners) overflows(o *Options) {
	if l.outside == nil || l.outside.Dropped() < manyDropped {
		return
	}
	o.Log.Warn("the receive buffer of QUIC was too small for this run, and what did not fit was sent again, which took time; "+
		"to allow a larger one: sudo sysctl -w net.core.rmem_max=7500000", "datagrams", l.outside.Dropped())
}

// close stops listening. A server that has served has closed the listeners already.
func (l *listeners) close() error {
	var errs []error
	if l.inside != nil {
		if err := l.inside.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if l.outside != nil {
		errs = append(errs, l.outside.Close())
	}
	errs = append(errs, l.bound.forget(), l.forgetDoors())
	return errors.Join(errs...)
}
