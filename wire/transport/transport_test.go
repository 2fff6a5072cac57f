package transport_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/wire"
	"metasim/wire/transport"
)

// patient is a listener that only notes how patient it is.
type patient struct {
	wire.Listener
	with time.Duration
}

func (p *patient) SetPeerTimeout(d time.Duration) { p.with = d }

// Who says nothing of a silent host has the default, which stands in one place.
func TestPeerTimeout(t *testing.T) {
	for said, want := range map[time.Duration]time.Duration{0: transport.DefaultPeerTimeout, time.Second: time.Second, -1: 0} {
		p := &patient{with: -5}
		(&transport.Listener{Listener: p}).SetPeerTimeout(said)
		require.Equal(t, want, p.with)
	}
}
