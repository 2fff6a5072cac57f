package shm

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/transport/stream"
)

// benchMessage is a message with a payload of 64 bytes.
func benchMessage() wire.Packet {
	return wire.Packet{Member: 1, Body: &metasim.Send{Channel: "X", Payload: make([]byte, 64)}}
}

// BenchmarkRoundTrip sends a message of 64 bytes to another process and back. The rows without codec are the floors:
// the same 64 bytes over the bare ring, over the bare socket, and a counter over two eventfds and the netpoller.
func BenchmarkRoundTrip(b *testing.B) {
	b.Run("shm", func(b *testing.B) { roundTrips(b, socketURL(b)) })
	b.Run("unix", func(b *testing.B) { roundTrips(b, unixURL(b)) })
	b.Run("shm/handoff", func(b *testing.B) { handoffs(b, socketURL(b)) })
	b.Run("unix/handoff", func(b *testing.B) { handoffs(b, unixURL(b)) })
	b.Run("floor/ring", func(b *testing.B) {
		l := listen(b, socketURL(b)).(*listener)
		c := child(b, "bench-echo-ring", l.URL())
		a := <-l.arrived
		require.NoError(b, a.err)
		rawRoundTrips(b, a.conn)
		require.NoError(b, c.Wait())
		require.NoError(b, l.Close())
	})
	b.Run("floor/socket", func(b *testing.B) {
		url := unixURL(b)
		l, err := net.Listen("unix", strings.TrimPrefix(url, "unix://"))
		require.NoError(b, err)
		c := child(b, "bench-echo-socket", url)
		conn, err := l.Accept()
		require.NoError(b, err)
		rawRoundTrips(b, conn)
		require.NoError(b, c.Wait())
		require.NoError(b, l.Close())
	})
	b.Run("floor/eventfd", benchEventfd)
}

func unixURL(b *testing.B) string { return "unix" + strings.TrimPrefix(socketURL(b), "shm") }

func listenAny(b *testing.B, url string) wire.Listener {
	if strings.HasPrefix(url, "shm:") {
		return listen(b, url)
	}
	l, err := stream.Unix().Listen(url)
	require.NoError(b, err)
	return l
}

func dialAny(url string) wire.Conn {
	dial := dialURL
	if strings.HasPrefix(url, "unix:") {
		dial = stream.Unix().Dial
	}
	c, err := dial(context.Background(), url)
	if err != nil {
		panic(err)
	}
	return c
}

func roundTrips(b *testing.B, url string) {
	l := listenAny(b, url)
	c := child(b, "bench-echo", url)
	conn, err := l.Accept()
	require.NoError(b, err)
	packets := []wire.Packet{benchMessage()}
	b.ReportAllocs()
	for b.Loop() {
		if err := conn.Write(packets); err != nil {
			b.Fatal(err)
		}
		if _, err := conn.Read(); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	require.NoError(b, conn.Close())
	require.NoError(b, c.Wait())
	require.NoError(b, l.Close())
}

// handoffs measures round trips like those of metasim: on each side one goroutine reads, and another one writes.
func handoffs(b *testing.B, url string) {
	l := listenAny(b, url)
	c := child(b, "bench-echo-handoff", url)
	conn, err := l.Accept()
	require.NoError(b, err)
	read := readAll(conn)
	packets := []wire.Packet{benchMessage()}
	b.ReportAllocs()
	for b.Loop() {
		if err := conn.Write(packets); err != nil {
			b.Fatal(err)
		}
		if n := <-read; n != 1 {
			b.Fatal("the echo is broken")
		}
	}
	b.StopTimer()
	require.NoError(b, conn.Close())
	<-read
	require.NoError(b, c.Wait())
	require.NoError(b, l.Close())
}

// readAll reads in the background, and sends how many packets came.
func readAll(conn wire.Conn) <-chan int {
	read := make(chan int, 1)
	go func() {
		defer close(read)
		for {
			packets, err := conn.Read()
			if err != nil {
				return
			}
			read <- len(packets)
		}
	}()
	return read
}

func playEchoHandoff(url string) {
	c := dialAny(url)
	packets := []wire.Packet{benchMessage()}
	for range readAll(c) {
		if err := c.Write(packets); err != nil {
			break
		}
	}
	_ = c.Close() // the benchmark is over
}

func playEcho(url string) {
	c := dialAny(url)
	for {
		packets, err := c.Read()
		if err != nil {
			break
		}
		if err := c.Write(packets); err != nil {
			break
		}
	}
	_ = c.Close() // the benchmark is over
}

func rawRoundTrips(b *testing.B, conn io.ReadWriteCloser) {
	buf := make([]byte, 64)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := conn.Write(buf); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(conn, buf); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	require.NoError(b, conn.Close())
}

func playEchoRing(url string) {
	c, err := dial(context.Background(), url, ringSize)
	if err != nil {
		panic(err)
	}
	echoBytes(c)
}

func playEchoSocket(url string) {
	c, err := net.Dial("unix", strings.TrimPrefix(url, "unix://"))
	if err != nil {
		panic(err)
	}
	echoBytes(c)
}

func echoBytes(c io.ReadWriteCloser) {
	buf := make([]byte, 64)
	for {
		if _, err := io.ReadFull(c, buf); err != nil {
			break
		}
		if _, err := c.Write(buf); err != nil {
			break
		}
	}
	_ = c.Close() // the benchmark is over
}

// BenchmarkOneWay receives messages of 64 bytes from another process. The sender writes them in frames of 1 or of 64.
func BenchmarkOneWay(b *testing.B) {
	for name, play := range map[string]string{"batch=1": "bench-flood-1", "batch=64": "bench-flood-64"} {
		b.Run("shm/"+name, func(b *testing.B) { oneWay(b, socketURL(b), play) })
		b.Run("unix/"+name, func(b *testing.B) { oneWay(b, unixURL(b), play) })
	}
}

func oneWay(b *testing.B, url, play string) {
	l := listenAny(b, url)
	c := child(b, play, url)
	conn, err := l.Accept()
	require.NoError(b, err)
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; {
		packets, err := conn.Read()
		if err != nil {
			b.Fatal(err)
		}
		n += len(packets)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "M/s")
	b.StopTimer()
	require.NoError(b, conn.Close())
	require.NoError(b, c.Wait())
	require.NoError(b, l.Close())
}

// playFlood writes frames of n messages until the connection ends.
func playFlood(n int) func(url string) {
	return func(url string) {
		c := dialAny(url)
		var packets []wire.Packet
		for range n {
			packets = append(packets, benchMessage())
		}
		for err := error(nil); err == nil; {
			err = c.Write(packets)
		}
		_ = c.Close() // the benchmark is over
	}
}

// benchEventfd measures the alternative: an eventfd for each direction, for which the netpoller waits.
func benchEventfd(b *testing.B) {
	ping, pong := newEventfd(b), newEventfd(b)
	c := child(b, "bench-echo-eventfd", "", ping, pong)
	one := binary.NativeEndian.AppendUint64(nil, 1)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ping.Write(one); err != nil {
			b.Fatal(err)
		}
		if _, err := pong.Read(one); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	_, err := ping.Write(binary.NativeEndian.AppendUint64(nil, 2)) // the end
	require.NoError(b, err)
	require.NoError(b, c.Wait())
	require.NoError(b, ping.Close())
	require.NoError(b, pong.Close())
}

func playEchoEventfd(string) {
	ping, pong := os.NewFile(3, "ping"), os.NewFile(4, "pong")
	count := make([]byte, 8)
	for {
		if _, err := ping.Read(count); err != nil || binary.NativeEndian.Uint64(count) != 1 {
			return
		}
		if _, err := pong.Write(count); err != nil {
			return
		}
	}
}
