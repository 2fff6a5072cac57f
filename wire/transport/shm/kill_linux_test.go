package shm

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/wire"
	"metasim/wire/transport/stream"
)

// playMute writes three frames, prints a line and waits until it is killed.
func playMute(url string) {
	c, err := dial(context.Background(), url, 4096)
	if err != nil {
		panic(err)
	}
	conn := stream.New(c, c.peer)
	for i := range uint32(3) {
		if err := conn.Write([]wire.Packet{{Member: i, Body: wire.Goodbye{}}}); err != nil {
			panic(err)
		}
	}
	if _, err := os.NewFile(3, "out").WriteString("written\n"); err != nil {
		panic(err)
	}
	<-c.watched // that is, for ever
}

// mute starts playMute as a child, and returns its connection.
func mute(t *testing.T) (*exec.Cmd, wire.Conn, *conn) {
	l := listen(t, socketURL(t)).(*listener)
	out, in, err := os.Pipe()
	require.NoError(t, err)
	c := child(t, "mute", l.URL(), in)
	arrived := <-l.arrived
	require.NoError(t, arrived.err)
	said, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "written\n", said)
	require.NoError(t, out.Close())
	require.NoError(t, in.Close())
	require.NoError(t, l.Close())
	arrived.conn.maxSleep = time.Hour // a wake-up that is lost hangs
	conn := stream.New(arrived.conn, arrived.conn.peer)
	require.Equal(t, fmt.Sprintf("shm pid %d", c.Process.Pid), conn.Peer())
	return c, conn, arrived.conn
}

func kill(t *testing.T, c *exec.Cmd) {
	require.NoError(t, c.Process.Kill())
	require.Error(t, c.Wait())
}

// What a peer wrote before it was killed is read, then comes io.EOF.
func TestKilledPeer(t *testing.T) {
	before, err := os.ReadDir("/dev/shm")
	require.NoError(t, err)
	c, conn, _ := mute(t)
	kill(t, c)
	readMute(t, conn)
	_, err = conn.Read()
	require.Equal(t, io.EOF, err)
	require.NoError(t, conn.Close())
	after, err := os.ReadDir("/dev/shm")
	require.NoError(t, err)
	require.Len(t, after, len(before), "the dead left something behind")
}

func TestKilledWhileWeWaitForData(t *testing.T) {
	c, conn, raw := mute(t)
	readMute(t, conn)
	reading := inBackground(func() error { _, err := conn.Read(); return err })
	require.Eventually(t, func() bool { return raw.in.reader.Load() == 1 }, patience, time.Millisecond)
	kill(t, c)
	require.Equal(t, io.EOF, <-reading)
	require.NoError(t, conn.Close())
}

func TestKilledWhileWeWaitForRoom(t *testing.T) {
	c, conn, raw := mute(t)
	writing := inBackground(func() error {
		for {
			if err := conn.Write([]wire.Packet{{Body: wire.Refuse{Text: "nobody reads this"}}}); err != nil {
				return err
			}
		}
	})
	require.Eventually(t, func() bool { return raw.out.writer.Load() == 1 }, patience, time.Millisecond)
	kill(t, c)
	require.ErrorIs(t, <-writing, syscall.EPIPE)
	readMute(t, conn)
	require.NoError(t, conn.Close())
}

// readMute reads what playMute wrote.
func readMute(t *testing.T, conn wire.Conn) {
	t.Helper()
	for i := uint32(0); i < 3; {
		got, err := conn.Read()
		require.NoError(t, err)
		for _, p := range got {
			require.Equal(t, wire.Packet{Member: i, Body: wire.Goodbye{}}, p)
			i++
		}
	}
}
