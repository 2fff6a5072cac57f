package shm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"metasim/wire"
	"metasim/wire/transport"
	"metasim/wire/transport/stream"
)

// dialURL connects to a listener. Where the system has no memory that can be shared safely, its error is
// errors.ErrUnsupported.
func dialURL(ctx context.Context, url string) (wire.Conn, error) {
	c, err := dial(ctx, url, ringSize)
	if err != nil {
		return nil, err
	}
	return stream.New(c, c.peer), nil
}

// dial connects with rings of a size.
func dial(ctx context.Context, url string, size uint32) (*conn, error) {
	path, err := stream.SocketPath("shm", url)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	socket, err := stream.Dial(ctx, "unix", path, url)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() {
		_ = socket.SetDeadline(time.Unix(1, 0)) // ends a greeting that waits; fails only if the socket is closed
	})
	c, err := offer(socket.(*net.UnixConn), size)
	if stop() && err == nil {
		return c, nil
	}
	if err == nil {
		err = c.Close() // ctx ended after the greeting, and has set the deadline of the socket
	} else {
		err = errors.Join(err, socket.Close())
	}
	return nil, fmt.Errorf("dial %s: %w", url, errors.Join(context.Cause(ctx), err))
}

// listenURL listens at "shm:///path", a socket where only this user may connect. Where the system has no memory that can
// be shared safely, its error is errors.ErrUnsupported.
func listenURL(rawURL string) (wire.Listener, error) {
	path, err := stream.SocketPath("shm", rawURL)
	if err != nil {
		return nil, err
	}
	probe, err := createMemory(minRingSize) // a system without such memory is found here, not by the first client
	if err != nil {
		return nil, err
	}
	if err := probe.Close(); err != nil {
		return nil, fmt.Errorf("listen at %s: %w", rawURL, err)
	}
	socket, err := stream.ListenUnix(path)
	if err != nil {
		return nil, err
	}
	l := &listener{socket: socket, url: transport.PathURL("shm", path), arrived: make(chan arrival)}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	l.tasks.Go(l.listen)
	return l, nil
}

// A listener greets each client on a goroutine of its own: a slow client does not delay the others.
type listener struct {
	socket  net.Listener
	url     string
	arrived chan arrival
	kept    stream.KeptFiles // what clients have sent apart, and is sent on
	ctx     context.Context  // ends with Close
	cancel  context.CancelFunc
	tasks   sync.WaitGroup // all goroutines
}

// An arrival is the result of one Accept.
type arrival struct {
	conn *conn
	err  error
}

func (l *listener) URL() string { return l.url }

// listen accepts sockets until the listener is closed.
func (l *listener) listen() {
	for {
		c, err := l.socket.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil:
			l.hand(arrival{err: stream.AcceptError(l.url, err)})
		default:
			l.tasks.Go(func() { l.greet(c.(*net.UnixConn)) })
		}
	}
}

// greet makes a connection of a socket. A peer that fails the greeting is no client: its socket is closed.
func (l *listener) greet(socket *net.UnixConn) {
	stop := context.AfterFunc(l.ctx, func() {
		_ = socket.SetDeadline(time.Unix(1, 0)) // ends a greeting that waits; fails only if the socket is closed
	})
	c, err := take(socket, &l.kept)
	stop()
	if err != nil {
		_ = socket.Close() // its error would not be reported anywhere
		return
	}
	l.hand(arrival{conn: c})
}

// hand waits for an Accept. A connection that is not accepted before Close is closed.
func (l *listener) hand(a arrival) {
	select {
	case l.arrived <- a:
	case <-l.ctx.Done():
		if a.conn != nil {
			_ = a.conn.Close() // the peer sees the end of the socket
		}
	}
}

func (l *listener) Accept() (wire.Conn, error) {
	select {
	case <-l.ctx.Done():
		return nil, fmt.Errorf("accept at %s: %w", l.url, net.ErrClosed)
	case a := <-l.arrived:
		if a.err != nil {
			return nil, a.err
		}
		return stream.New(a.conn, a.conn.peer), nil
	}
}

// Close stops listening, and removes the socket file.
func (l *listener) Close() error {
	if l.ctx.Err() != nil {
		return nil
	}
	l.cancel()
	err := l.socket.Close()
	l.tasks.Wait()
	return err
}

// patience bounds the greeting, on each side. It takes less than a millisecond, but much longer on a machine that starts
// a thousand processes at once.
const patience = 30 * time.Second

// offer is the client's side of the greeting: it makes the memory, sends it and waits until the server has mapped it.
func offer(socket *net.UnixConn, size uint32) (*conn, error) {
	file, err := createMemory(size)
	if err != nil {
		return nil, err
	}
	m, err := mapMemory(file, size)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	m.takes(client).Store(1)
	_, _, err = socket.WriteMsgUnix(greeting(size), unix.UnixRights(int(file.Fd())), nil)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("send the memory: %w", err), m.unmap())
	}
	answer := make([]byte, greetingSize)
	n, err := socket.Read(answer)
	if err == nil {
		_, err = readGreeting(answer[:n])
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("wait for the server: %w", err), m.unmap())
	}
	return newConn(socket, m, size, client, new(stream.KeptFiles)), nil
}

// take is the server's side of the greeting: it maps the memory that the client sends, and answers.
func take(socket *net.UnixConn, kept *stream.KeptFiles) (*conn, error) {
	if err := socket.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	file, size, err := receive(socket)
	if err != nil {
		return nil, err
	}
	m, err := mapMemory(file, size)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	m.takes(server).Store(1)
	if _, err = socket.Write(greeting(size)); err == nil {
		err = socket.SetDeadline(time.Time{})
	}
	if err != nil {
		return nil, errors.Join(err, m.unmap())
	}
	return newConn(socket, m, size, server, kept), nil
}

// receive reads a greeting and the one file that comes with it. It closes each file that it does not return.
func receive(socket *net.UnixConn) (*os.File, uint32, error) {
	greeted, rights := make([]byte, greetingSize+1), make([]byte, unix.CmsgSpace(4))
	n, oob, _, _, err := socket.ReadMsgUnix(greeted, rights)
	if err != nil {
		return nil, 0, err
	}
	files, err := stream.FilesIn(rights[:oob])
	size, wrong := readGreeting(greeted[:n])
	err = errors.Join(err, wrong)
	if err == nil && len(files) != 1 {
		err = fmt.Errorf("the greeting came with %d files; send the memory, and nothing else", len(files))
	}
	if err != nil {
		for _, f := range files {
			err = errors.Join(err, f.Close())
		}
		return nil, 0, err
	}
	return files[0], size, nil
}

const (
	magic        = "metasim\x00" // the first bytes of a greeting
	version      = 1             // of the layout; the version of the protocol is in the Hello
	greetingSize = 16
)

// greeting returns the bytes that the client sends with its memory, and that the server answers when it has mapped it: the
// magic, the version (u32) and the size of each ring (u32), little-endian.
func greeting(size uint32) []byte {
	b := append(make([]byte, 0, greetingSize), magic...)
	b = binary.LittleEndian.AppendUint32(b, version)
	return binary.LittleEndian.AppendUint32(b, size)
}

// readGreeting returns the size of each ring.
func readGreeting(b []byte) (uint32, error) {
	if len(b) != greetingSize || string(b[:len(magic)]) != magic {
		return 0, fmt.Errorf("the peer does not use shared memory; use the URL that its server printed")
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != version {
		return 0, fmt.Errorf("the peer's memory has layout %d and ours %d; use one metasim on both sides", v, version)
	}
	size := binary.LittleEndian.Uint32(b[12:])
	if size < minRingSize || size > maxRingSize || size&(size-1) != 0 {
		return 0, fmt.Errorf("the peer's rings have %d bytes; use a power of two from %d to %d",
			size, minRingSize, maxRingSize)
	}
	return size, nil
}
