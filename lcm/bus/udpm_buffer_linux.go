package bus

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// forceBuffer gives a socket a receive buffer of size bytes, also if net.core.rmem_max allows less. Only root may do so.
func forceBuffer(conn *net.UDPConn, size int) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, size)
	})
	return errors.Join(err, failed)
}
