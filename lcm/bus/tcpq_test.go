package bus

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func captured(t testing.TB, file string) []byte {
	b, err := os.ReadFile("testdata/tcpq_" + file + ".bin")
	require.NoError(t, err)
	return b
}

// raw connects to a server and writes bytes.
func raw(t testing.TB, server Bus, say string) net.Conn {
	conn, err := net.Dial("tcp", server.(*tcpqServer).listener.Addr().String())
	require.NoError(t, err)
	require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
	_, err = io.WriteString(conn, say)
	require.NoError(t, err)
	return conn
}

// Our sessions with the programs of LCM are the same, byte for byte, as those that were captured between them.
func TestSessionsAreThoseOfLCM(t *testing.T) {
	server, err := Open("tcpq://127.0.0.1:0", Options{Serve: true})
	require.NoError(t, err)
	defer shut(t, server)
	sub := raw(t, server, string(captured(t, "sub_HEL")))
	defer sub.Close()
	subscribe(t, server, nobody{}, "")
	pub := raw(t, server, string(captured(t, "pub_HELLO_x2")))
	defer pub.Close()
	other := raw(t, server, string(captured(t, "pub_OTHER")))
	defer other.Close()
	want := captured(t, "srv_to_sub_HEL")
	got := make([]byte, len(want))
	_, err = io.ReadFull(sub, got)
	require.NoError(t, err)
	assert.Equal(t, want, got)
	eventually(t, "all came in", func() bool { return server.Stats().Received == 3 })
}

// nobody subscribes to nothing: subscribe then waits for a subscription that the server knows already.
type nobody struct{ Bus }

func (nobody) Subscribe(...string) (*Subscription, error) { return nil, nil }

func TestTheClientSaysWhatLCMSays(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	client, err := Open("tcpq://"+listener.Addr().String(), Options{})
	require.NoError(t, err)
	conn, err := listener.Accept()
	require.NoError(t, err)
	sub, err := client.Subscribe("HEL.*")
	require.NoError(t, err)
	want := captured(t, "sub_HEL")
	want = append(want, captured(t, "pub_HELLO_x2")[8:]...)
	hello := Message{Channel: "HELLO", Payload: payload(10)}
	require.NoError(t, client.Publish(hello, hello))
	got := make([]byte, len(want))
	_, err = io.ReadFull(conn, got)
	require.NoError(t, err)
	assert.Equal(t, want, got)

	_, err = conn.Write(captured(t, "srv_to_sub_HEL"))
	require.NoError(t, err)
	assert.Equal(t, []Message{hello, hello}, hear(t, sub, 2))
	require.NoError(t, conn.Close())
	_, err = receive(t.Context(), sub)
	require.ErrorIs(t, err, ErrClosed)
	eventually(t, "the loss is known", func() bool {
		require.NoError(t, client.Publish(hello))
		return client.Stats().Failed > 0
	})
	shut(t, client)
}

func TestHostilePeersCostNobodyAnything(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	server, err := Open("tcpq://127.0.0.1:0", Options{Serve: true, Queue: 1 << 20})
	require.NoError(t, err)
	hello := string(appendHello(nil, clientMagic))
	reader := raw(t, server, hello+string(appendText(nil, frameSubscribe, ".*")))
	defer reader.Close()
	subscribe(t, server, nobody{}, "")
	good, in := server.(*tcpqServer), bufio.NewReader(reader)
	require.NoError(t, readHello(in, serverMagic))

	silent := raw(t, server, "")
	defer silent.Close()
	deaf := raw(t, server, hello+string(appendText(nil, frameSubscribe, ".*"))) // never reads
	defer deaf.Close()
	eventually(t, "all are in", func() bool {
		good.mu.Lock()
		defer good.mu.Unlock()
		return len(good.peers) == 3 && good.peers[2].patterns.match("X")
	})
	for _, garbage := range []string{
		"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
		hello + "\x00\x00\x00\x04",
		hello + "\x00\x00\x00\x01\x00\x00\x04\x01",
		hello + "\x00\x00\x00\x01\x00\x00\x00\x01C\x10\x00\x00\x01",
	} {
		conn := raw(t, server, garbage)
		_, err := io.Copy(io.Discard, conn) // until it is disconnected
		var late net.Error
		require.False(t, errors.As(err, &late) && late.Timeout(), "%q is still connected", garbage)
		require.NoError(t, conn.Close())
	}
	assert.EqualValues(t, 4, server.Stats().Refused)

	big := Message{Channel: "BIG", Payload: payload(100_000)}
	for i := range 200 { // 20 MB: more than a socket and the queue of the peer that does not read hold
		require.NoError(t, server.Publish(big))
		f, err := readFrame(in, 1<<20)
		require.NoError(t, err, "message %d", i)
		require.True(t, bytes.Equal(big.Payload, f.payload))
	}
	st := server.Stats()
	assert.EqualValues(t, 200, st.Sent)
	assert.Positive(t, st.Dropped, "the deaf one's queue is bounded")
	assert.Zero(t, st.Failed)
	began := time.Now()
	shut(t, server)
	assert.Less(t, time.Since(began), lingerTime+patience)
}

// A peer that reads gets the last byte of what was published before Close, even if it goes on sending: when a connection is
// closed with unread input, the system drops what the peer has not read yet.
func TestClosingLeavesNothingBehind(t *testing.T) {
	server, err := Open("tcpq://127.0.0.1:0", Options{Serve: true})
	require.NoError(t, err)
	reader := raw(t, server, string(appendHello(nil, clientMagic))+string(appendText(nil, frameSubscribe, "BIG")))
	subscribe(t, server, nobody{}, "")
	for range 100 {
		require.NoError(t, server.Publish(Message{Channel: "BIG", Payload: payload(100_000)}))
	}
	talk := newPublish(&Message{Channel: "TALK", Payload: payload(1000)})
	var talker sync.WaitGroup
	talker.Go(func() {
		for {
			if _, err := reader.Write(talk); err != nil {
				return // closed below
			}
		}
	})
	closed := make(chan error)
	go func() { closed <- server.Close() }()
	all, err := io.ReadAll(reader)
	require.NoError(t, err)
	assert.Len(t, all, 8+100*(12+3+100_000))
	require.NoError(t, reader.Close())
	talker.Wait()
	require.NoError(t, <-closed)
}

// A peer that begins to read late, and goes on sending, gets everything too.
func TestClosingWaitsForWhoStillTalks(t *testing.T) {
	server, err := Open("tcpq://127.0.0.1:0", Options{Serve: true})
	require.NoError(t, err)
	reader := raw(t, server, string(appendHello(nil, clientMagic))+string(appendText(nil, frameSubscribe, "BIG")))
	require.NoError(t, reader.(*net.TCPConn).SetReadBuffer(256<<10))
	subscribe(t, server, nobody{}, "")
	const size = 1_000_000 // more than the reader's system takes, less than both
	require.NoError(t, server.Publish(Message{Channel: "BIG", Payload: payload(size)}))
	talk := newPublish(&Message{Channel: "TALK", Payload: payload(1000)})
	closed := make(chan error)
	go func() { closed <- server.Close() }()
	for late := time.After(2 * idleTime); late != nil; {
		_, err := reader.Write(talk)
		require.NoError(t, err)
		select {
		case <-late:
			late = nil
		default:
		}
	}
	all, err := io.ReadAll(reader)
	require.NoError(t, err)
	assert.Len(t, all, 8+12+3+size)
	require.NoError(t, reader.Close())
	require.NoError(t, <-closed)
}

func TestWhatAPeerPublishesIsRelayedToAll(t *testing.T) {
	server, one := tcpq(t, Options{Queue: 200_000})
	defer shut(t, server)
	two, err := Open(server.(*tcpqServer).url, Options{})
	require.NoError(t, err)
	for _, b := range []Bus{one, two} {
		defer shut(t, b)
	}
	sub, own := subscribe(t, server, one, "A.*"), subscribe(t, server, server, "A.*")
	require.NoError(t, two.Publish(Message{Channel: "B"}, Message{Channel: "AB", Payload: payload(3)}))
	assert.Equal(t, payload(3), hear(t, sub, 1)[0].Payload)
	assert.Equal(t, payload(3), hear(t, own, 1)[0].Payload)

	// A name that LCM's UDP cannot carry is not relayed, nor a message that is larger than a queue.
	conn := raw(t, server, string(appendHello(nil, clientMagic)))
	defer conn.Close()
	for _, m := range []Message{{Channel: strings.Repeat("A", 200)}, {Channel: "A\x00B"}, {Channel: "A", Payload: payload(200_001)}, {Channel: "AZ"}} {
		_, err := conn.Write(newPublish(&m))
		require.NoError(t, err)
	}
	assert.Equal(t, "AZ", hear(t, sub, 1)[0].Channel)
	assert.EqualValues(t, 2, server.Stats().Refused)
	assert.EqualValues(t, 1, server.Stats().Dropped)
}

// FuzzFrames: reading ends and allocates no more than came; a frame that was read is written with the same bytes.
func FuzzFrames(f *testing.F) {
	for _, file := range []string{"sub_HEL", "pub_HELLO_x2", "pub_OTHER", "logger_all", "srv_to_sub_HEL"} {
		f.Add(captured(f, file)[8:])
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		in := bufio.NewReader(bytes.NewReader(stream))
		var again []byte
		for {
			fr, err := readFrame(in, 1<<20)
			if err != nil {
				break
			}
			require.LessOrEqual(t, len(fr.text), maxPattern)
			require.LessOrEqual(t, cap(fr.payload), max(1<<16, 2*len(stream)))
			switch {
			case fr.dropped:
				return
			case fr.kind == framePublish:
				again = append(again, newPublish(&Message{Channel: fr.text, Payload: fr.payload})...)
			default:
				again = appendText(again, fr.kind, fr.text)
			}
		}
		require.True(t, bytes.HasPrefix(stream, again))
	})
}

// FuzzSession: whatever a peer sends, the server continues to serve the others.
func FuzzSession(f *testing.F) {
	for _, file := range []string{"sub_HEL", "pub_HELLO_x2", "pub_OTHER", "logger_all"} {
		f.Add(captured(f, file))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		s := &tcpqServer{options: Options{Queue: 1 << 20}.withDefaults()}
		s.log = s.options.Log
		here, there := net.Pipe()
		p := s.admit(there)
		s.work.Go(func() { s.read(p) })
		s.work.Go(func() { _ = p.write(serverMagic, 0) })
		go func() {
			_, _ = here.Write(stream) // it may be disconnected in the middle
			_ = here.Close()
		}()
		_, err := io.Copy(io.Discard, here)
		require.True(t, err == nil || err == io.ErrClosedPipe, err)
		s.work.Wait()
		require.Empty(t, s.peers)
		require.NoError(t, s.Publish(Message{Channel: "HELLO"}))
	})
}
