package shm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/transport/stream"
)

// leastApart is from which size on a write travels apart.
const leastApart = 256 << 10

func large(fill byte, size int) []byte {
	b := bytes.Repeat([]byte{fill}, size)
	for i := 0; i < size; i += 1000 {
		b[i] = byte(i / 1000)
	}
	return b
}

// readPieces reads in pieces of many sizes, with and without waiting, until the end.
func readPieces(c *conn) ([]byte, error) {
	var got bytes.Buffer
	piece := make([]byte, 300_000)
	for i := 0; ; i++ {
		read := c.Read
		if i%2 == 0 {
			read = c.TryRead
		}
		n, err := read(piece[:1+i*10_007%len(piece)])
		got.Write(piece[:n])
		if errors.Is(err, io.EOF) {
			return got.Bytes(), nil
		}
		if err != nil {
			return got.Bytes(), err
		}
	}
}

// Bytes and files come in the order in which they were written, whatever their sizes, and however little is read at a time.
func TestFilesAreInTheirPlace(t *testing.T) {
	for _, size := range []uint32{minRingSize, 4096, ringSize} {
		a, b := connPair(t, size)
		var want []byte
		parts := [][]byte{large(1, leastApart), []byte("between"), large(2, leastApart-1), large(3, leastApart+5), large(4, 2<<20), []byte("x")}
		for range 4 {
			parts = append(parts, parts[:6]...)
		}
		for _, p := range parts {
			want = append(want, p...)
		}
		written := inBackground(func() error {
			for _, p := range parts {
				if n, err := a.Write(p); n != len(p) || err != nil {
					return errors.Join(err, io.ErrShortWrite)
				}
			}
			return a.Close()
		})
		got, err := readPieces(b)
		require.NoError(t, err)
		require.NoError(t, <-written)
		require.True(t, bytes.Equal(want, got))
		require.EqualValues(t, 15, b.in.had, "large writes went as bytes")
	}
}

// A large payload reaches the server in a file, and others get that file: nobody has another copy. When it is used no more, nothing of it is left.
func TestAFileIsPassedOn(t *testing.T) {
	l := listen(t, socketURL(t)).(*listener)
	var clients, servers []wire.Conn
	for range 3 {
		c, err := dialURL(t.Context(), l.URL())
		require.NoError(t, err)
		s, err := l.Accept()
		require.NoError(t, err)
		clients, servers = append(clients, c), append(servers, s)
	}
	before := openFiles(t)
	for _, size := range []int{2 << 20, 5<<20 + 1} {
		state := clients[0].(wire.Copier).Copy([][]byte{large(7, size)})
		require.NotNil(t, state)
		got := pass(t, clients[0], servers[0], state)
		files := openFiles(t)
		for i := 1; i < 3; i++ {
			again := pass(t, servers[i], clients[i], got)
			require.True(t, bytes.Equal(state, again))
			require.Equal(t, inode(t, got), inode(t, again), "another file")
		}
		require.LessOrEqual(t, openFiles(t), files+2, "each client has one descriptor")
		runtime.KeepAlive(state)
	}
	pass(t, clients[0], servers[0], nil) // until then the connection lends the last payload
	for i := 1; i < 3; i++ {
		pass(t, servers[i], clients[i], nil)
	}
	require.Eventually(t, func() bool { runtime.GC(); return openFiles(t) <= before }, 20*time.Second, time.Millisecond)
	for i := range clients {
		closed := inBackground(clients[i].Close)
		require.NoError(t, servers[i].Close())
		require.NoError(t, <-closed)
	}
	require.NoError(t, l.Close())
}

// pass sends a payload from one connection to another, and returns what has come.
func pass(t *testing.T, from, to wire.Conn, payload []byte) []byte {
	t.Helper()
	written := inBackground(func() error {
		return from.Write([]wire.Packet{{Body: &metasim.Send{Channel: "STATE", Payload: payload}}})
	})
	got, err := to.Read()
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.NoError(t, <-written)
	return got[0].Body.(*metasim.Send).Payload
}

// inode returns which file the end of a payload is mapped from.
func inode(t *testing.T, payload []byte) (file string) {
	t.Helper()
	at := uint64(uintptr(unsafe.Pointer(&payload[len(payload)-1])))
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	for line := range strings.Lines(string(maps)) {
		var from, to, offset uint64
		var mode, device, inode, name string
		n, _ := fmt.Sscanf(line, "%x-%x %s %x %s %s %s", &from, &to, &mode, &offset, &device, &inode, &name) // most lines have no name
		if n == 7 && from <= at && at < to {
			return name + " " + inode
		}
	}
	require.Fail(t, "it is in no file")
	return ""
}

// A peer that does not say that it takes files is sent bytes, and nothing over the socket.
func TestOldPeersGetBytes(t *testing.T) {
	a, b := connPair(t, 4096)
	a.parts.Knows.Store(false) // as the word of such a peer is 0
	sent := large(5, 3<<20)
	require.Nil(t, a.Copy([][]byte{sent}))
	written := inBackground(func() error { _, err := a.Write(sent); return errors.Join(err, a.Close()) })
	got, err := readPieces(b)
	require.NoError(t, err)
	require.NoError(t, <-written)
	require.True(t, bytes.Equal(sent, got))
	require.Zero(t, b.in.had)
}

// Each side says in the memory that it takes files, and looks for the word of the other: memory from a peer that does not know of files has zeros there.
func TestWhoTakesFiles(t *testing.T) {
	a, b := connPair(t, 4096)
	require.True(t, a.parts.Knows.Load() && b.parts.Knows.Load())
	for _, r := range []role{client, server} {
		m := make(memory, fileSize(4096))
		m.takes(r).Store(1)
		require.EqualValues(t, 0, m.takes(!r).Load())
	}
	l := listen(t, socketURL(t)).(*listener)
	old := dialSocket(t, l.URL())
	file, err := createMemory(4096)
	require.NoError(t, err)
	_, _, err = old.WriteMsgUnix(greeting(4096), unix.UnixRights(int(file.Fd())), nil)
	require.NoError(t, err)
	arrived := <-l.arrived
	require.NoError(t, arrived.err)
	require.False(t, arrived.conn.parts.Knows.Load())
	require.NoError(t, errors.Join(file.Close(), old.Close(), arrived.conn.Close(), l.Close()))
}

// A writer is at most so many files ahead; a reader that opens one lets it go on, and the end of a peer ends its wait.
func TestAWriterIsNotFarAhead(t *testing.T) {
	a, b := connPair(t, 4096)
	state := large(1, leastApart)
	write := func() error { _, err := a.Write(state); return err }
	for range mostFiles {
		require.NoError(t, write())
	}
	n, err := a.TryWrite(state)
	require.NoError(t, err)
	require.Zero(t, n)
	waiting := inBackground(write)
	require.Eventually(t, func() bool { return a.out.writer.Load() == 1 }, patience, time.Millisecond)
	_, err = io.ReadFull(b, make([]byte, len(state)))
	require.NoError(t, err)
	require.NoError(t, <-waiting)
	waiting = inBackground(write)
	require.Eventually(t, func() bool { return a.out.writer.Load() == 1 }, patience, time.Millisecond)
	require.NoError(t, b.Close())
	require.ErrorIs(t, <-waiting, syscall.EPIPE)
}

// What a peer wrote before its end is read, files too, and of a connection that is closed with files unread nothing is left.
func TestFilesBeforeTheEnd(t *testing.T) {
	a, b := connPair(t, 4096)
	state := large(1, leastApart)
	_, err := a.Write(state)
	require.NoError(t, err)
	_, err = a.Write(state)
	require.NoError(t, err)
	require.NoError(t, a.Close())
	got, err := readPieces(b)
	require.NoError(t, err)
	require.True(t, bytes.Equal(append(state, state...), got))

	before := openFiles(t)
	a, b = connPair(t, 4096)
	for range 3 {
		_, err = a.Write(state)
		require.NoError(t, err)
	}
	n, err := b.TryRead(make([]byte, 10)) // the first one is open
	for n == 0 && err == nil {
		n, err = b.TryRead(make([]byte, 10))
	}
	require.NoError(t, err)
	require.NoError(t, errors.Join(a.Close(), b.Close()))
	require.LessOrEqual(t, openFiles(t), before)
}

// sealedFile makes a file that a peer may send, or with other seals one that it may not.
func sealedFile(t *testing.T, seals int) *os.File {
	t.Helper()
	f, err := stream.MemoryFile("attack")
	require.NoError(t, err)
	_, err = f.Write([]byte("state"))
	require.NoError(t, err)
	_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals)
	require.NoError(t, err)
	return f
}

// A peer that sends other files than it may, or lies about them, is refused or treated as closed, and no descriptor is left. What a file has to be is tested in package stream.
func TestAttacksWithFiles(t *testing.T) {
	const good = unix.F_SEAL_WRITE | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW
	for name, c := range map[string]struct {
		seals  int
		said   []byte // beside each message
		files  int    // in each
		times  int
		claims uint32 // files in the ring's word
		want   string // of the error; empty: the end
	}{
		"may be written":                    {unix.F_SEAL_SHRINK | unix.F_SEAL_GROW, place(0), 1, 1, 1, "what is not sealed"},
		"two":                               {good, place(0), 2, 1, 1, "2 descriptors at once"},
		"forty":                             {good, place(0), 40, 1, 1, "descriptors at once"},
		"too far":                           {good, place(4097), 1, 1, 1, "a file 4097 bytes ahead: the ring holds 4096"},
		"before":                            {good, place(^uint32(0)), 1, 1, 1, "a file 4294967295 bytes ahead"},
		"claims too many":                   {good, place(0), 1, 1, mostFiles + 1, "17 files that were not opened: a peer is 16 ahead"},
		"no file":                           {good, place(0), 0, 1, 1, ""},
		"no place":                          {good, []byte{1}, 1, 1, 1, ""},
		"more than place":                   {good, make([]byte, 5), 1, 1, 1, ""},
		"too many":                          {good, place(0), 1, mostFiles + 1, 0, ""},
		"nothing but a claim, then the end": {good, nil, 0, 0, 1, ""},
	} {
		t.Run(name, func(t *testing.T) {
			a, b := connPair(t, 4096)
			b.maxSleep = time.Millisecond // nobody wakes it where the claim comes last
			f := sealedFile(t, c.seals)
			before := openFiles(t)
			var fds []int
			for range c.files {
				fds = append(fds, int(f.Fd()))
			}
			for range c.times {
				var rights []byte
				if fds != nil {
					rights = unix.UnixRights(fds...)
				}
				_, _, err := a.socket.WriteMsgUnix(c.said, rights, nil)
				require.NoError(t, err)
			}
			a.out.files.Store(c.claims)
			if c.times == 0 {
				require.NoError(t, a.Close())
			}
			_, err := stream.New(b, b.peer).Read()
			if wrong := new(wire.ProtocolError); c.want != "" {
				require.ErrorAs(t, err, &wrong)
				require.ErrorContains(t, err, c.want)
			} else {
				require.Equal(t, io.EOF, err)
			}
			require.NoError(t, errors.Join(b.Close(), f.Close()))
			require.LessOrEqual(t, openFiles(t), before)
		})
	}
}

func place(at uint32) []byte { return binary.LittleEndian.AppendUint32(nil, at) }

// A peer that says to have opened what was not sent is refused.
func TestOpenedBeforeItWasSent(t *testing.T) {
	a, b := connPair(t, 4096)
	b.in.opened.Store(1)
	_, err := a.Write(large(1, leastApart))
	require.ErrorContains(t, err, "1 files opened that were not sent")
}

// A reader that has seen a file come before it was claimed, and sleeps again, is woken by the claim.
func TestAClaimWakes(t *testing.T) {
	a, b := connPair(t, 4096)
	reading := inBackground(func() error { _, err := io.ReadFull(b, make([]byte, leastApart)); return err })
	sent, err := a.parts.Send(large(1, leastApart), true, a.sendFile)
	require.NoError(t, err)
	require.True(t, sent)
	require.Eventually(t, func() bool { _, here := b.mail.first(); return here && b.in.reader.Load() == 1 }, patience, time.Millisecond)
	a.claim()
	require.NoError(t, <-reading)
}

// A read that waits for a file which a peer has claimed and not sent ends with the connection.
func TestAClaimedFileNeverComes(t *testing.T) {
	a, b := connPair(t, 4096)
	a.out.files.Store(1)
	reading := inBackground(func() error { _, err := b.Read(make([]byte, 1)); return err })
	require.Eventually(t, func() bool { return b.in.reader.Load() == 1 }, patience, time.Millisecond)
	require.NoError(t, b.Close())
	require.ErrorIs(t, <-reading, net.ErrClosed)
}

// A side that may have no more descriptors says so where the file would be: the peer has not closed.
func TestNoRoomForAFile(t *testing.T) {
	a, b := connPair(t, 4096)
	f := sealedFile(t, unix.F_SEAL_WRITE|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW)
	_, err := a.Write([]byte("before"))
	require.NoError(t, err)
	again := fillDescriptors(t, 500)
	sent := a.sendFile(int(f.Fd()))
	a.claim()
	got := make([]byte, 10)
	n, first := b.Read(got)
	_, err = b.Read(got[n:])
	again()
	require.NoError(t, sent)
	require.NoError(t, errors.Join(first, f.Close()))
	require.Equal(t, "before", string(got[:n]))
	require.ErrorContains(t, err, "no room for the descriptor of what comes apart; raise the limit of open files (ulimit -n)")
}

// fillDescriptors lowers the limit of open files to most, and opens files until it is reached. The result undoes that. A limit
// of zero would not do: the kernel lets an ordinary user have no more files under way, in all processes together, than its limit.
func fillDescriptors(t *testing.T, most uint64) (again func()) {
	t.Helper()
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: most, Max: limit.Max}))
	var opened []*os.File
	again = sync.OnceFunc(func() {
		for _, f := range opened {
			require.NoError(t, f.Close())
		}
		require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit))
	})
	t.Cleanup(again)
	for {
		f, err := os.Open(os.DevNull)
		if errors.Is(err, unix.EMFILE) {
			return again
		}
		require.NoError(t, err)
		opened = append(opened, f)
	}
}
