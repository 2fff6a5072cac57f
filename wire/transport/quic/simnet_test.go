package quic

import (
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quic-go/quic-go/testutils/simnet"
	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/transport"
	"metasim/wire/transport/secure"
)

// hop is the latency of each direction of the simulated network.
const hop = 20 * time.Millisecond

// cable is a network that can be cut.
type cable struct {
	simnet.PerfectRouter
	cut    atomic.Bool
	client *conn
}

func (c *cable) SendPacket(p simnet.Packet) error {
	if c.cut.Load() {
		return nil
	}
	return c.PerfectRouter.SendPacket(p)
}

// simulated runs a test in fake time, with a connection over a network of 20 ms a hop.
func simulated(t *testing.T, test func(t *testing.T, client, server wire.Conn, cable *cable)) {
	dialed(t, func(t *testing.T, client wire.Conn, l *listener, cable *cable) {
		require.NoError(t, client.Write(goodbye))
		server, err := l.Accept()
		require.NoError(t, err)
		_, err = server.Read()
		require.NoError(t, err)
		test(t, client, server, cable)
		require.NoError(t, client.Close())
		require.NoError(t, server.Close())
	})
}

// dialed does so with a connection on which nothing was written yet.
func dialed(t *testing.T, test func(t *testing.T, client wire.Conn, l *listener, cable *cable)) {
	synctest.Test(t, func(t *testing.T) {
		network := &simnet.Simnet{Router: &cable{}}
		settings := simnet.NodeBiDiLinkSettings{Latency: hop}
		serverAddr := &net.UDPAddr{IP: net.IPv4(1, 0, 0, 2), Port: 9000}
		clientSide := network.NewEndpoint(&net.UDPAddr{IP: net.IPv4(1, 0, 0, 1), Port: 9000}, settings)
		serverSide := network.NewEndpoint(serverAddr, settings)
		require.NoError(t, network.Start())
		defer func() { require.NoError(t, network.Close()) }()

		l, err := listenOn(serverSide, nil)
		require.NoError(t, err)
		_, want, _, err := secure.ParseURL("quic", l.URL())
		require.NoError(t, err)
		dialed, err := dialFrom(t.Context(), clientSide, serverAddr, want, "")
		require.NoError(t, err)
		network.Router.(*cable).client = dialed
		test(t, dialed.carry(), l, network.Router.(*cable))
		require.NoError(t, l.Close())
	})
}

var goodbye = []wire.Packet{{Body: wire.Goodbye{}}}

// A round trip takes two hops and nothing else: no delayed acknowledgement, no waiting for more.
func TestRoundTripTakesTwoHops(t *testing.T) {
	simulated(t, func(t *testing.T, client, server wire.Conn, _ *cable) {
		go func() {
			for {
				packets, err := server.Read()
				if err != nil || server.Write(packets) != nil {
					return
				}
			}
		}()
		began := time.Now()
		const rounds = 50
		for range rounds {
			require.NoError(t, client.Write(goodbye))
			_, err := client.Read()
			require.NoError(t, err)
		}
		require.InDelta(t, rounds*2*hop, time.Since(began), float64(5*hop))
	})
}

// Both sides notice a cut network after the silence, and do not take it for the end of the stream.
func TestSilenceIsDeath(t *testing.T) {
	simulated(t, func(t *testing.T, client, server wire.Conn, cable *cable) {
		cable.cut.Store(true)
		began := time.Now()
		for _, c := range []wire.Conn{client, server} {
			_, err := c.Read()
			require.ErrorContains(t, err, "no packet came for as long as peer_timeout allows")
			require.NotErrorIs(t, err, net.ErrClosed)
			require.NotErrorIs(t, err, io.EOF)
		}
		require.InDelta(t, transport.DefaultPeerTimeout, time.Since(began), float64(2*time.Second))
	})
}

// A connection whose peer's process is said to have ended ends after a short silence, and not before.
func TestSuspectedPeer(t *testing.T) {
	simulated(t, func(t *testing.T, client, server wire.Conn, cable *cable) {
		server.(wire.Mortal).Suspect()
		read := make(chan error, 1)
		go func() { _, err := server.Read(); read <- err }()
		<-time.After(5 * silence) // in the bubble
		require.Empty(t, read, "another process of the peer sends packets")
		cable.cut.Store(true)
		began := time.Now()
		require.ErrorContains(t, <-read, "no packet came for 3s after its process had ended")
		require.LessOrEqual(t, time.Since(began), 2*silence)
	})
}

// When the peer closes the connection without ending its stream, a Read is neither io.EOF nor net.ErrClosed.
func TestAbortIsNoEnd(t *testing.T) {
	simulated(t, func(t *testing.T, _, server wire.Conn, cable *cable) {
		require.NoError(t, cable.client.quic.CloseWithError(7, "enough"))
		_, err := server.Read()
		require.ErrorContains(t, err, "enough")
		require.NotErrorIs(t, err, net.ErrClosed)
		require.NotErrorIs(t, err, io.EOF)
		require.NotErrorIs(t, server.Write(goodbye), net.ErrClosed)
	})
}

// An idle connection stays open: a client may compute, or be stopped in a debugger, for hours.
func TestIdleConnectionsLive(t *testing.T) {
	simulated(t, func(t *testing.T, client, server wire.Conn, _ *cable) {
		<-time.After(time.Hour)
		require.NoError(t, server.Write(goodbye))
		_, err := client.Read()
		require.NoError(t, err)
	})
}

// The server closes a connection on which the client sends nothing.
func TestSilentClient(t *testing.T) {
	dialed(t, func(t *testing.T, client wire.Conn, _ *listener, _ *cable) {
		began := time.Now()
		_, err := client.Read()
		require.ErrorContains(t, err, "no Hello came")
		require.InDelta(t, firstBytes, time.Since(began), float64(5*hop))
		require.NoError(t, client.Close())
	})
}

// A network that carries nothing for three seconds takes neither the first words of a client nor the last ones of a server.
func TestABlackOut(t *testing.T) {
	const black = 3 * time.Second
	dialed(t, func(t *testing.T, client wire.Conn, l *listener, cable *cable) {
		cable.cut.Store(true)
		time.AfterFunc(black, func() { cable.cut.Store(false) })
		require.NoError(t, client.Write(goodbye))
		server, err := l.Accept()
		require.NoError(t, err)
		_, err = server.Read()
		require.NoError(t, err)

		cable.cut.Store(true)
		time.AfterFunc(black, func() { cable.cut.Store(false) })
		require.NoError(t, server.Write(goodbye))
		closed := make(chan error, 1)
		go func() { closed <- server.Close() }()
		_, err = client.Read()
		require.NoError(t, err)
		_, err = client.Read()
		require.Equal(t, io.EOF, err)
		require.NoError(t, client.Close())
		require.NoError(t, <-closed)
	})
}

// A Close waits until the peer has read everything; for a peer that does not read, eight seconds.
func TestCloseWaitsForTheReader(t *testing.T) {
	for name, c := range map[string]struct {
		reads bool
		want  time.Duration
	}{"reads": {true, 2 * hop}, "does not": {false, linger}} {
		t.Run(name, func(t *testing.T) {
			simulated(t, func(t *testing.T, client, server wire.Conn, _ *cable) {
				require.NoError(t, server.Write(goodbye))
				ended := make(chan error, 1)
				go func() {
					var err error
					for c.reads && err == nil {
						_, err = client.Read()
					}
					ended <- err
				}()
				began := time.Now()
				require.NoError(t, server.Close())
				require.InDelta(t, c.want, time.Since(began), float64(hop))
				if err := <-ended; c.reads {
					require.Equal(t, io.EOF, err)
				}
			})
		})
	}
}

// Packets that are lost are sent again: what was written before the Close arrives.
func TestCloseSurvivesLoss(t *testing.T) {
	simulated(t, func(t *testing.T, client, server wire.Conn, cable *cable) {
		last := []wire.Packet{{Body: &metasim.Leave{Result: []byte("{}")}}}
		cable.cut.Store(true)
		require.NoError(t, client.Write(last))
		closed := make(chan error, 1)
		go func() { closed <- client.Close() }()
		<-time.After(100 * time.Millisecond)
		cable.cut.Store(false)
		got, err := server.Read()
		require.NoError(t, err)
		require.Equal(t, last, got)
		_, err = server.Read()
		require.Equal(t, io.EOF, err)
		require.NoError(t, <-closed)
	})
}
