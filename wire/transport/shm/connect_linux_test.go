package shm

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"metasim/wire/transport/stream"
)

// A peer with a wrong greeting is disconnected, leaves nothing behind, and delays no other.
func TestHostileGreetings(t *testing.T) {
	const size = 4096
	good, err := createMemory(size)
	require.NoError(t, err)
	small, err := createMemory(size / 2)
	require.NoError(t, err)
	open := unsealed(t, fileSize(size))
	disk, err := os.Create(filepath.Join(t.TempDir(), "rings"))
	require.NoError(t, err)
	require.NoError(t, disk.Truncate(int64(fileSize(size))))

	l := listen(t, socketURL(t)).(*listener)
	idle := dialSocket(t, l.URL()) // sends nothing, and delays no other
	greetWell(t, l, size)
	files, maps := openFiles(t), mappings(t)
	newer := greeting(size)
	newer[8]++
	for name, c := range map[string]struct {
		said  []byte
		files []*os.File
	}{
		"not memory":    {greeting(size), []*os.File{disk}},
		"may shrink":    {greeting(size), []*os.File{open}},
		"too small":     {greeting(size), []*os.File{small}},
		"two files":     {greeting(size), []*os.File{good, good}},
		"no file":       {greeting(size), nil},
		"odd size":      {greeting(size + 1), []*os.File{good}},
		"huge":          {greeting(2 * maxRingSize), []*os.File{good}},
		"newer":         {newer, []*os.File{good}},
		"half":          {greeting(size)[:8], []*os.File{good}},
		"more":          {append(greeting(size), 0), []*os.File{good}},
		"unix:// frame": {[]byte{4, 0, 0, 0, 0x0a, 2, 0x2a, 0}, nil},
	} {
		socket := dialSocket(t, l.URL())
		var fds []int
		for _, f := range c.files {
			fds = append(fds, int(f.Fd()))
		}
		var rights []byte
		if fds != nil {
			rights = unix.UnixRights(fds...)
		}
		_, _, err := socket.WriteMsgUnix(c.said, rights, nil)
		require.NoError(t, err)
		_, err = socket.Read(make([]byte, 1))
		require.Error(t, err, name)
		require.NoError(t, socket.Close())
	}
	greetWell(t, l, size)
	require.Equal(t, files, openFiles(t))
	require.Equal(t, maps, mappings(t))

	require.NoError(t, l.Close())
	require.NoError(t, idle.Close())
	for _, f := range []*os.File{good, small, open, disk} {
		require.NoError(t, f.Close())
	}
}

// greetWell makes a correct connection.
func greetWell(t *testing.T, l *listener, size uint32) {
	t.Helper()
	a, err := dial(t.Context(), l.URL(), size)
	require.NoError(t, err)
	b := <-l.arrived
	require.NoError(t, b.err)
	require.NoError(t, errors.Join(a.Close(), b.conn.Close()))
}

// unsealed is memory that its owner could truncate.
func unsealed(t *testing.T, size int) *os.File {
	fd, err := unix.MemfdCreate("metasim", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	require.NoError(t, err)
	require.NoError(t, unix.Ftruncate(fd, int64(size)))
	return os.NewFile(uintptr(fd), "unsealed")
}

func dialSocket(t *testing.T, url string) *net.UnixConn {
	c, err := net.Dial("unix", strings.TrimPrefix(url, "shm://"))
	require.NoError(t, err)
	return c.(*net.UnixConn)
}

// No process can change the size of a memory.
func TestMemoryIsSealed(t *testing.T) {
	f, err := createMemory(4096)
	require.NoError(t, err)
	require.ErrorIs(t, f.Truncate(0), unix.EPERM)
	require.ErrorIs(t, f.Truncate(1<<20), unix.EPERM)
	require.NoError(t, f.Close())
}

func TestAddresses(t *testing.T) {
	for url, want := range map[string]string{
		"shm:relative":                       "use shm:///path, with three slashes",
		"shm://host/path":                    "use shm:///path, with three slashes",
		"unix:///path":                       "use shm:///path",
		"\x00":                               "is no URL",
		"shm:///" + strings.Repeat("x", 107): "has 108 bytes, and the system allows 107",
		"shm:///does/not/exist/s":            "/does/not/exist/s",
	} {
		_, err := listenURL(url)
		require.ErrorContains(t, err, want)
		_, err = dialURL(t.Context(), url)
		require.ErrorContains(t, err, want)
	}
}

// A Dial ends when a server accepts the socket and sends nothing, or a wrong greeting.
func TestDialWrongServer(t *testing.T) {
	url := socketURL(t)
	l, err := stream.ListenUnix(strings.TrimPrefix(url, "shm://"))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	dialed := inBackground(func() error { _, err := dialURL(ctx, url); return err })
	c, err := l.Accept()
	require.NoError(t, err)
	cancel()
	require.ErrorIs(t, <-dialed, context.Canceled)
	require.NoError(t, c.Close())

	dialed = inBackground(func() error { _, err := dialURL(t.Context(), url); return err })
	c, err = l.Accept()
	require.NoError(t, err)
	_, err = c.Write([]byte("HTTP/1.1 400 Bad Request"))
	require.NoError(t, err)
	require.ErrorContains(t, <-dialed, "does not use shared memory")
	require.NoError(t, c.Close())
	require.NoError(t, l.Close())
}
