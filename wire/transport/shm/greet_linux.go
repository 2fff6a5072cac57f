package shm

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// patience bounds the greeting, on each side. It takes less than a millisecond; a machine that starts a thousand
// processes at once may need its time.
const patience = 30 * time.Second

// offer is the client's greeting: it makes the memory, hands it over and waits until the server has mapped it.
func offer(socket *net.UnixConn, size uint32) (*conn, error) {
	file, err := createMemory(size)
	if err != nil {
		return nil, err
	}
	m, err := mapMemory(file, size)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	_, _, err = socket.WriteMsgUnix(greeting(size), unix.UnixRights(int(file.Fd())), nil)
	if err := errors.Join(err, file.Close()); err != nil {
		return nil, errors.Join(fmt.Errorf("hand over the memory: %w", err), m.unmap())
	}
	answer := make([]byte, greetingSize)
	n, err := socket.Read(answer)
	if err == nil {
		_, err = readGreeting(answer[:n])
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("wait for the server: %w", err), m.unmap())
	}
	return newConn(socket, m, size, client), nil
}

// take is the server's greeting: it maps what the client hands over, and says so.
func take(socket *net.UnixConn) (*conn, error) {
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
	if _, err = socket.Write(greeting(size)); err == nil {
		err = socket.SetDeadline(time.Time{})
	}
	if err != nil {
		return nil, errors.Join(err, m.unmap())
	}
	return newConn(socket, m, size, server), nil
}

// receive reads a greeting and the one file that comes with it. All files that come are closed or returned.
func receive(socket *net.UnixConn) (*os.File, uint32, error) {
	said, rights := make([]byte, greetingSize+1), make([]byte, unix.CmsgSpace(4))
	n, oob, _, _, err := socket.ReadMsgUnix(said, rights)
	if err != nil {
		return nil, 0, err
	}
	files, err := filesIn(rights[:oob])
	size, wrong := readGreeting(said[:n])
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

// filesIn returns the files of a control message; the runtime has asked for close-on-exec.
func filesIn(rights []byte) ([]*os.File, error) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, err
	}
	var files []*os.File
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			return files, err
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "rings of a peer"))
		}
	}
	return files, nil
}
