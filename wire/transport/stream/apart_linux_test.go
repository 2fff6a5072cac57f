package stream

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"metasim/internal/shortdir"
	"metasim/metasim"
	"metasim/wire"
)

// meet returns connections of clients and of their server, that have said hello to one another.
func meet(t *testing.T, n int) (clients, servers []wire.Conn, l *listener) {
	t.Helper()
	opened, err := listenUnix("unix://" + shortdir.Make(t) + "/s")
	require.NoError(t, err)
	l = opened.(*listener)
	hello := []wire.Packet{{Body: wire.Goodbye{}}}
	for range n {
		c, err := Unix().Dial(t.Context(), l.URL())
		require.NoError(t, err)
		require.NoError(t, c.Write(hello))
		s, err := l.Accept()
		require.NoError(t, err)
		_, err = s.Read()
		require.NoError(t, err)
		require.NoError(t, s.Write(hello))
		_, err = c.Read()
		require.NoError(t, err)
		clients, servers = append(clients, c), append(servers, s)
	}
	t.Cleanup(func() {
		for i := range clients {
			closing := make(chan error, 1)
			go func() { closing <- clients[i].Close() }()
			require.NoError(t, servers[i].Close())
			require.NoError(t, <-closing)
		}
		require.NoError(t, l.Close())
	})
	return clients, servers, l
}

// pass writes packets on one connection and reads as many from another.
func pass(t *testing.T, from, to wire.Conn, packets ...wire.Packet) (got []wire.Packet) {
	t.Helper()
	written := make(chan error, 1)
	go func() { written <- from.Write(packets) }()
	for len(got) < len(packets) {
		more, err := to.Read()
		require.NoError(t, err)
		for _, p := range more {
			got = append(got, p.Keep())
		}
	}
	require.NoError(t, <-written)
	return got
}

func large(fill byte, size int) wire.Packet {
	b := bytes.Repeat([]byte{fill}, size)
	for i := 0; i < size; i += 1000 {
		b[i] = byte(i / 1000)
	}
	return wire.Packet{Member: 1, Body: &metasim.Send{Channel: "STATE", Payload: b}}
}

func payloadOf(p wire.Packet) []byte { return p.Body.(*metasim.Send).Payload }

func openFiles(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(all)
}

// collect waits until what is not used any more was given back.
func collect(t *testing.T, done func() bool) {
	t.Helper()
	require.Eventually(t, func() bool { runtime.GC(); return done() }, 20*time.Second, time.Millisecond)
}

func (k *KeptFiles) used() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.parts)
}

// A large payload reaches the server in a file, and from there two others in the same file. What stands before and behind it in its frame comes as ever.
func TestLargePayloadsTravelInOneFile(t *testing.T) {
	clients, servers, l := meet(t, 3)
	for _, size := range []int{2 << 20, leastApart + copiedAtMost, 5<<20 + 1, 3<<20 + 4096} {
		sent := large(7, size)
		small := wire.Packet{Member: 2, Body: &metasim.Promise{}}
		got := pass(t, clients[0], servers[0], small, sent, small, small)
		require.True(t, bytes.Equal(payloadOf(sent), payloadOf(got[1])))
		require.Equal(t, 1, l.kept.used(), "it was copied")
		for i := 1; i < 3; i++ {
			again := pass(t, servers[i], clients[i], small, got[1], small)
			require.True(t, bytes.Equal(payloadOf(sent), payloadOf(again[1])))
			require.IsType(t, &metasim.Promise{}, again[2].Body)
			payloadOf(again[1])[size-1]++ // which nobody may: it is a copy
		}
		require.True(t, bytes.Equal(payloadOf(sent), payloadOf(got[1])))
		require.Equal(t, 1, l.kept.used())
		runtime.KeepAlive(got)
		got = nil
		pass(t, clients[0], servers[0], small) // until then the connection lends it
		collect(t, func() bool { return l.kept.used() == 0 })
	}
}

// copiedAtMost is an upper bound, in bytes, for the first part of a large payload: that part is sent in the stream, the rest in a file.
const copiedAtMost = 64 << 10

// Memory in whose place a file was is memory as any other afterwards, and no descriptor is left.
func TestMemoryIsGivenBack(t *testing.T) {
	clients, servers, l := meet(t, 1)
	joined := openFiles(t)
	sent := large(9, 4<<20)
	var all [][]byte
	zeros := make([]byte, 4<<20)
	for i := range 20 {
		got := pass(t, clients[0], servers[0], sent)
		require.True(t, bytes.Equal(payloadOf(sent), payloadOf(got[0])))
		fresh := make([]byte, 4<<20)
		require.True(t, bytes.Equal(zeros, fresh), "memory that is not zero")
		fresh[i] = 1
		if all = append(all, fresh); len(all) > 3 {
			all = all[1:]
		}
	}
	pass(t, clients[0], servers[0], wire.Packet{Body: wire.Goodbye{}})
	collect(t, func() bool { return l.kept.used() == 0 && openFiles(t) <= joined })
	require.Empty(t, l.kept.lost)
	maps, err := os.ReadFile("/proc/self/maps")
	require.NoError(t, err)
	require.NotContains(t, string(maps), "memfd:metasim", "a file is mapped still")
}

// Where too many files are used, the next ones are copied.
func TestTooManyFilesAreCopied(t *testing.T) {
	clients, servers, l := meet(t, 1)
	sent := large(3, leastApart+copiedAtMost)
	var kept []wire.Packet
	for range mostKept + 2 {
		kept = append(kept, pass(t, clients[0], servers[0], sent)...)
	}
	require.Equal(t, mostKept, l.kept.used())
	for i := range kept {
		require.True(t, bytes.Equal(payloadOf(sent), payloadOf(kept[i])), i)
	}
}

// A peer that does not know of descriptors gets and sends the same bytes as ever, and no descriptor.
func TestOtherPeersGetBytes(t *testing.T) {
	l, err := listenUnix("unix://" + shortdir.Make(t) + "/s")
	require.NoError(t, err)
	c, err := net.Dial("unix", strings.TrimPrefix(l.URL(), "unix://"))
	require.NoError(t, err)
	sent := large(5, 3<<20)
	var encoder wire.Encoder
	frames, err := encoder.Frames([]wire.Packet{sent})
	require.NoError(t, err)
	s, err := l.Accept()
	require.NoError(t, err)
	written := make(chan error, 1)
	go func() {
		_, err := c.Write(frames)
		written <- err
	}()
	got, err := s.Read()
	require.NoError(t, err)
	require.NoError(t, <-written)
	require.True(t, bytes.Equal(payloadOf(sent), payloadOf(got[0])))
	go func() { written <- s.Write([]wire.Packet{sent}) }()
	back, oob := make([]byte, 0, len(frames)), make([]byte, 64)
	for len(back) < len(frames) {
		n, rights, _, _, err := c.(*net.UnixConn).ReadMsgUnix(back[len(back):cap(back)], oob)
		require.NoError(t, err)
		require.Zero(t, rights)
		back = back[:len(back)+n]
	}
	require.NoError(t, <-written)
	require.True(t, bytes.Equal(frames, back))
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	require.NoError(t, c.Close())
	require.NoError(t, <-closed)
	require.NoError(t, l.Close())
}

// memory makes a file of a size with seals.
func memory(t *testing.T, size, seals int) *os.File {
	t.Helper()
	f, err := MemoryFile("attack")
	require.NoError(t, err)
	_, err = f.Write(make([]byte, size))
	require.NoError(t, err)
	if seals != 0 {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals)
		require.NoError(t, err)
	}
	return f
}

// attacks are descriptors that no peer of ours sends.
func attacks() []attack {
	sealed := func(t *testing.T) []*os.File { return []*os.File{memory(t, 100, partSeals)} }
	return []attack{
		{"not sealed", "not sealed", true, func(t *testing.T) []*os.File { return []*os.File{memory(t, 100, 0)} }},
		{"may be written", "not sealed", true, func(t *testing.T) []*os.File { return []*os.File{memory(t, 100, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW)} }},
		{"may shrink", "not sealed", true, func(t *testing.T) []*os.File { return []*os.File{memory(t, 100, unix.F_SEAL_WRITE|unix.F_SEAL_GROW)} }},
		{"may be mapped for writing", "not sealed", true, func(t *testing.T) []*os.File {
			return []*os.File{memory(t, 100, unix.F_SEAL_FUTURE_WRITE|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW)}
		}},
		{"empty", "a file of 0 bytes", true, func(t *testing.T) []*os.File { return []*os.File{memory(t, 0, partSeals)} }},
		{"too large", "what comes apart has from 1 to", true, func(t *testing.T) []*os.File {
			f := memory(t, 0, 0)
			require.NoError(t, f.Truncate(wire.MaxFrame+1))
			_, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, partSeals)
			require.NoError(t, err)
			return []*os.File{f}
		}},
		{"holes", "has no holes", true, func(t *testing.T) []*os.File {
			f := memory(t, 5000, 0)
			require.NoError(t, f.Truncate(1<<20))
			_, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, partSeals)
			require.NoError(t, err)
			return []*os.File{f}
		}},
		{"huge pages", "huge pages", true, func(t *testing.T) []*os.File {
			fd, err := unix.MemfdCreate("huge", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_HUGETLB)
			if err != nil {
				t.Skipf("SKIPPED LOUDLY: this system has no huge pages in files: %v", err)
			}
			f := os.NewFile(uintptr(fd), "huge")
			_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, partSeals)
			require.NoError(t, err)
			return []*os.File{f}
		}},
		{"a pipe", "not sealed", true, func(t *testing.T) []*os.File {
			r, w, err := os.Pipe()
			require.NoError(t, err)
			require.NoError(t, w.Close())
			return []*os.File{r}
		}},
		{"a file on a disk", "not sealed", true, func(t *testing.T) []*os.File {
			f, err := os.CreateTemp(t.TempDir(), "")
			require.NoError(t, err)
			return []*os.File{f}
		}},
		{"two", "2 descriptors at once", true, func(t *testing.T) []*os.File { return append(sealed(t), sealed(t)...) }},
		{"forty", "descriptors at once", true, func(t *testing.T) (all []*os.File) {
			for range 40 {
				all = append(all, sealed(t)...)
			}
			return all
		}},
		{"two at the beginning", "2 descriptors at once", false, func(t *testing.T) []*os.File { return append(sealed(t), sealed(t)...) }},
	}
}

// An attack is what a peer sends in one message.
type attack struct {
	name, want string
	greets     bool // it has said before that it takes descriptors
	files      func(t *testing.T) []*os.File
}

// Whatever descriptor an attacker sends, the server refuses what could change, hang it or kill it, says why, and keeps no descriptor.
func TestAttacksWithDescriptors(t *testing.T) {
	for _, c := range append(attacks(), otherDescriptors()...) {
		t.Run(c.name, func(t *testing.T) {
			l, err := listenUnix("unix://" + shortdir.Make(t) + "/s")
			require.NoError(t, err)
			attacker, err := net.Dial("unix", strings.TrimPrefix(l.URL(), "unix://"))
			require.NoError(t, err)
			s, err := l.Accept()
			require.NoError(t, err)
			files := c.files(t)
			before := openFiles(t)
			send := func(b []byte, fds ...int) {
				_, _, err := attacker.(*net.UnixConn).WriteMsgUnix(b, unix.UnixRights(fds...), nil)
				require.NoError(t, err)
			}
			if c.greets {
				send([]byte{1}, int(greetingFile().Fd()))
			}
			var fds []int
			for _, f := range files {
				fds = append(fds, int(f.Fd()))
			}
			send([]byte{0}, fds...)
			_, err = s.Read()
			wrong := new(wire.ProtocolError)
			require.ErrorAs(t, err, &wrong)
			require.ErrorContains(t, err, c.want)
			require.LessOrEqual(t, openFiles(t), before)
			for _, f := range files {
				require.NoError(t, f.Close())
			}
			closed := make(chan error, 1)
			go func() { closed <- s.Close() }()
			require.NoError(t, attacker.Close())
			require.NoError(t, <-closed)
			require.NoError(t, l.Close())
		})
	}
}

// Who has sent a file cannot change it any more.
func TestASealedPartStaysAsItIs(t *testing.T) {
	f, err := makePart([]byte("state"))
	require.NoError(t, err)
	_, err = f.WriteAt([]byte("S"), 0)
	require.ErrorIs(t, err, unix.EPERM)
	for _, size := range []int64{4, 6} {
		require.ErrorIs(t, f.Truncate(size), unix.EPERM)
	}
	_, err = unix.Mmap(int(f.Fd()), 0, 5, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.Error(t, err)
	_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_EXEC)
	require.Error(t, err)
	require.NoError(t, f.Close())
}

// What comes apart may be read a little at a time, with and without waiting, and a connection that ends behind it says so.
func TestPartsAreReadInPieces(t *testing.T) {
	dir := shortdir.Make(t)
	l, err := net.Listen("unix", dir+"/s")
	require.NoError(t, err)
	out, err := net.Dial("unix", dir+"/s")
	require.NoError(t, err)
	in, err := l.Accept()
	require.NoError(t, err)
	writer, reader := apart(movable(out), "reader", new(KeptFiles), false).(*apartSocket), apart(movable(in), "writer", new(KeptFiles), true).(*apartSocket)
	writer.parts.Knows.Store(true)
	b := payloadOf(large(1, leastApart+10))
	for _, part := range [][]byte{[]byte("before"), b, []byte("behind"), b} {
		n, err := writer.Write(part)
		require.NoError(t, err)
		require.Equal(t, len(part), n)
	}
	require.NoError(t, writer.CloseWrite())
	var got bytes.Buffer
	piece := make([]byte, 300_000)
	for i := 0; ; i++ {
		read := reader.Read
		if i%2 == 0 {
			read = reader.TryRead
		}
		n, err := read(piece[:1+i*10_000%len(piece)])
		got.Write(piece[:n])
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
	require.True(t, bytes.Equal(bytes.Join([][]byte{[]byte("before"), b, []byte("behind"), b}, nil), got.Bytes()))
	require.NoError(t, errors.Join(writer.Close(), reader.Close(), l.Close()))
}

// A write without waiting hands a file that is there at once, and leaves any other to a write that may take its time.
func TestWithoutWaiting(t *testing.T) {
	clients, servers, _ := meet(t, 2)
	got := pass(t, clients[0], servers[0], large(1, 2<<20))
	var frames wire.Frames
	var encoder wire.Encoder
	to := servers[1].(wire.Prompt)
	require.NoError(t, encoder.Append(&frames, got))
	all := frames.Len()
	n, err := frames.TryWrite(to)
	require.NoError(t, err)
	require.Equal(t, all, n)
	_, err = clients[1].Read()
	require.NoError(t, err)
	unknown := large(2, 2<<20)
	require.NoError(t, encoder.Append(&frames, []wire.Packet{unknown}))
	n, err = frames.TryWrite(to)
	require.NoError(t, err)
	require.Less(t, n, all)
	require.NoError(t, frames.WriteAll(to))
	again, err := clients[1].Read()
	require.NoError(t, err)
	require.True(t, bytes.Equal(payloadOf(unknown), payloadOf(again[0])))
	runtime.KeepAlive(got)
}
