package stream

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"metasim/internal/shortdir"
	"metasim/metasim"
	"metasim/wire"
)

// inodes are the files that are kept.
func (k *KeptFiles) inodes(t *testing.T) (all []uint64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, f := range k.parts {
		var info unix.Stat_t
		require.NoError(t, unix.Fstat(int(f.file.Fd()), &info))
		all = append(all, info.Ino)
	}
	return all
}

func keptBy(c wire.Conn) *KeptFiles { return c.(*promptConn).conn.stream.(*apartSocket).parts.Kept }

// A copy for a connection is in the file that its peer maps: it is the only one. The parts may be changed then.
func TestACopyIsTheOnlyOne(t *testing.T) {
	clients, servers, l := meet(t, 2)
	all := payloadOf(large(3, 3<<20+77))
	for _, cut := range []int{0, 5, copiedAtMost, len(all) - 1, len(all)} {
		parts := [][]byte{bytes.Clone(all[:cut]), {}, bytes.Clone(all[cut:])}
		payload := clients[0].(wire.Copier).Copy(parts)
		for _, p := range parts {
			clear(p)
		}
		require.True(t, bytes.Equal(all, payload), cut)
		file := keptBy(clients[0]).inodes(t)
		require.Len(t, file, 1)
		got := pass(t, clients[0], servers[0], wire.Packet{Body: &metasim.Send{Channel: "STATE", Payload: payload}})
		require.Equal(t, file, l.kept.inodes(t), "the server has another file")
		again := pass(t, servers[1], clients[1], got...)
		require.Equal(t, file, keptBy(clients[1]).inodes(t), "the second client has another file")
		require.True(t, bytes.Equal(all, payloadOf(again[0])), cut)
		runtime.KeepAlive(payload)
		payload, got, again = nil, nil, nil
		pass(t, clients[0], servers[0], wire.Packet{Body: wire.Goodbye{}}) // until then the connection lends it
		pass(t, servers[1], clients[1], wire.Packet{Body: wire.Goodbye{}})
		collect(t, func() bool { return keptBy(clients[0]).used()+l.kept.used()+keptBy(clients[1]).used() == 0 })
	}
}

// Where a copy would not travel apart there is no place for it.
func TestNoPlaceForACopy(t *testing.T) {
	clients, _, _ := meet(t, 1)
	places := clients[0].(wire.Copier)
	require.Nil(t, places.Copy([][]byte{make([]byte, leastApart)}), "the most of it would be less than what travels apart")
	require.Nil(t, places.Copy([][]byte{make([]byte, wire.MaxPayload), {1}}), "it can be no payload")
	socket := clients[0].(*promptConn).conn.stream.(*apartSocket)
	socket.parts.Knows.Store(false)
	require.Nil(t, places.Copy([][]byte{make([]byte, 4<<20)}), "the peer takes no files")
	socket.parts.Knows.Store(true)
	var kept [][]byte
	for range mostKept {
		kept = append(kept, places.Copy([][]byte{make([]byte, 2<<20)}))
		require.NotNil(t, kept[len(kept)-1])
	}
	require.Nil(t, places.Copy([][]byte{make([]byte, 2<<20)}), "there are too many files")
	runtime.KeepAlive(kept)
}

// A file that cannot be mapped is read.
func TestAFileThatCannotBeMappedIsRead(t *testing.T) {
	f, err := os.Open("/proc/version") // it can be read at any place, and not be mapped
	require.NoError(t, err)
	want, err := os.ReadFile(f.Name())
	require.NoError(t, err)
	var k KeptFiles
	got, err := k.behind([]byte("head "), &partFile{file: f, size: len(want)}, 100)
	require.NoError(t, err)
	require.Equal(t, "head "+string(want), string(got))
	require.Len(t, append(got, make([]byte, 100)...), 5+len(want)+100)
	require.Zero(t, k.used())
	require.Empty(t, k.lost)
	require.ErrorIs(t, f.Close(), os.ErrClosed)
}

// However many files come and go, of whatever sizes, the memory of the process is not cut into ever more pieces, which the system bounds.
func TestMappingsDoNotPileUp(t *testing.T) {
	clients, servers, l := meet(t, 1)
	mappings := func() int {
		b, err := os.ReadFile("/proc/self/maps")
		require.NoError(t, err)
		return bytes.Count(b, []byte("\n"))
	}
	round := func() {
		var held [][]byte
		for i := range 60 {
			got := pass(t, clients[0], servers[0], large(1, leastApart+copiedAtMost+i*41_000))
			if held = append(held, payloadOf(got[0])); i%3 == 0 {
				held = held[len(held)/2:]
			}
		}
		pass(t, clients[0], servers[0], wire.Packet{Body: wire.Goodbye{}})
		held = nil
		collect(t, func() bool { return l.kept.used() == 0 })
	}
	round()
	first := mappings()
	for range 5 {
		round()
	}
	require.Less(t, mappings(), first+60, "there were %d after the first round", first)
}

// reopened opens a file once more, with other flags.
func reopened(t *testing.T, f *os.File, flags int) *os.File {
	t.Helper()
	fd, err := unix.Open(filepath.Join("/proc/self/fd", strconv.Itoa(int(f.Fd()))), flags|unix.O_CLOEXEC, 0)
	require.NoError(t, err)
	require.NoError(t, f.Close())
	return os.NewFile(uintptr(fd), "attack")
}

// otherDescriptors are descriptors of what cannot be mapped, or not by everybody who has them.
func otherDescriptors() []attack {
	opened := func(path string, flags int) func(t *testing.T) []*os.File {
		return func(t *testing.T) []*os.File {
			f, err := os.OpenFile(path, flags, 0)
			require.NoError(t, err)
			return []*os.File{f}
		}
	}
	sealed := func(flags int) func(t *testing.T) []*os.File {
		return func(t *testing.T) []*os.File { return []*os.File{reopened(t, memory(t, 100, partSeals), flags)} }
	}
	return []attack{
		{"a directory", "not sealed", true, opened("/", os.O_RDONLY)},
		{"a device without an end", "not sealed", true, opened("/dev/zero", os.O_RDONLY)},
		{"a file of the system", "not sealed", true, opened("/proc/self/status", os.O_RDONLY)},
		{"sealed, but only to be written", "cannot be read", true, sealed(unix.O_WRONLY)},
		{"sealed, but only a path", "not sealed", true, sealed(unix.O_PATH)},
		{"a socket", "not sealed", true, func(t *testing.T) []*os.File {
			fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			require.NoError(t, err)
			require.NoError(t, unix.Close(fds[1]))
			return []*os.File{os.NewFile(uintptr(fds[0]), "attack")}
		}},
		{"a counter of events", "not sealed", true, func(t *testing.T) []*os.File {
			fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
			require.NoError(t, err)
			return []*os.File{os.NewFile(uintptr(fd), "attack")}
		}},
		{"a file on /dev/shm", "not sealed", true, func(t *testing.T) []*os.File {
			f, err := os.CreateTemp("/dev/shm", "metasim-attack")
			if err != nil {
				t.Skipf("SKIPPED LOUDLY: this system has no /dev/shm: %v", err)
			}
			require.NoError(t, os.Remove(f.Name()))
			return []*os.File{f}
		}},
	}
}

// A file that its sender has mapped for writing cannot be sealed, so what can still be changed through an old mapping cannot be sent.
func TestAnOldMappingPreventsTheSeal(t *testing.T) {
	f := memory(t, 8192, 0)
	old, err := unix.Mmap(int(f.Fd()), 0, 8192, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	require.NoError(t, err)
	_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, partSeals)
	require.ErrorIs(t, err, unix.EBUSY)
	require.NoError(t, unix.Munmap(old))
	_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, partSeals)
	require.NoError(t, err)
	require.ErrorIs(t, unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, 4096), unix.EPERM)
	require.NoError(t, f.Close())
}

// What a process starts has no descriptor of a part.
func TestNoDescriptorIsInherited(t *testing.T) {
	clients, servers, l := meet(t, 1)
	got := pass(t, clients[0], servers[0], large(1, 3<<20))
	l.kept.mu.Lock()
	defer l.kept.mu.Unlock()
	require.Len(t, l.kept.parts, 1)
	for _, f := range l.kept.parts {
		flags, err := unix.FcntlInt(f.file.Fd(), unix.F_GETFD, 0)
		require.NoError(t, err)
		require.NotZero(t, flags&unix.FD_CLOEXEC)
		name, err := os.Readlink(filepath.Join("/proc/self/fd", strconv.Itoa(int(f.file.Fd()))))
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(name, "/memfd:metasim"), name)
	}
	runtime.KeepAlive(got)
}

// noRoom sets the limit of open files so that this process can open none. The result undoes that.
func noRoom(t *testing.T) (again func()) {
	t.Helper()
	var limit unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &limit))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: limit.Max}))
	return func() { require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)) }
}

// A process that may open no more descriptors gets an error that says so. A process that loses the descriptor of the greeting is sent bytes.
func TestNoRoomForADescriptor(t *testing.T) {
	clients, servers, _ := meet(t, 1)
	require.NoError(t, clients[0].Write([]wire.Packet{large(1, 2<<20)}))
	again := noRoom(t)
	_, err := servers[0].Read()
	again()
	require.EqualError(t, err, "read from "+servers[0].Peer()+": "+errNoRoom.Error())

	opened, err := listenUnix("unix://" + shortdir.Make(t) + "/s")
	require.NoError(t, err)
	c, err := Unix().Dial(t.Context(), opened.URL())
	require.NoError(t, err)
	s, err := opened.Accept()
	require.NoError(t, err)
	hello := []wire.Packet{{Body: wire.Goodbye{}}}
	require.NoError(t, c.Write(hello))
	again = noRoom(t)
	got, err := s.Read()
	again()
	require.NoError(t, err)
	require.Equal(t, hello, got)
	require.NoError(t, s.Write(hello))
	_, err = c.Read()
	require.NoError(t, err)
	sent := large(2, 2<<20)
	require.Equal(t, payloadOf(sent), payloadOf(pass(t, c, s, sent)[0]))
	require.Zero(t, keptBy(s).used())
	require.NoError(t, errors.Join(s.Close(), c.Close(), opened.Close()))
}

// BenchmarkPlaces measures the processor time of a state of 16 MiB that is set, byte by byte or at once, and then is in a sealed file: set in memory of its own and written, or
// set in pages of the file that are lent.
func BenchmarkPlaces(b *testing.B) {
	state := make([]byte, 16<<20)
	written := func(set func([]byte)) *os.File {
		set(state)
		f, err := makePart(state)
		require.NoError(b, err)
		return f
	}
	lent := func(set func([]byte)) *os.File {
		f, err := MemoryFile("lent")
		require.NoError(b, err)
		require.NoError(b, f.Truncate(int64(len(state))))
		place, err := unix.Mmap(int(f.Fd()), 0, len(state), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		require.NoError(b, err)
		set(place)
		require.NoError(b, unix.Munmap(place))
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, partSeals)
		require.NoError(b, err)
		return f
	}
	bytewise := func(b []byte) {
		for i := range b {
			b[i] = byte(i)
		}
	}
	atOnce := func(b []byte) { clear(b) }
	for _, c := range []struct {
		name string
		make func(set func([]byte)) *os.File
		set  func([]byte)
	}{{"bytewise/written", written, bytewise}, {"bytewise/lent", lent, bytewise}, {"at-once/written", written, atOnce}, {"at-once/lent", lent, atOnce}} {
		b.Run(c.name, func(b *testing.B) {
			var before, after unix.Rusage
			require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &before))
			for b.Loop() {
				require.NoError(b, c.make(c.set).Close())
			}
			require.NoError(b, unix.Getrusage(unix.RUSAGE_SELF, &after))
			took := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
			b.ReportMetric(float64(took)/1e6/float64(b.N), "cpu-ms/op")
		})
	}
}
