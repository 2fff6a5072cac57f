package stream

import (
	"net"
	"syscall"
)

// private makes the socket file that bind creates the user's alone from its first moment: on Linux it inherits the
// mode of the socket.
func private(_, _ string, c syscall.RawConn) error {
	var failed error
	if err := c.Control(func(fd uintptr) { failed = syscall.Fchmod(int(fd), 0o600) }); err != nil {
		return err
	}
	return failed
}

// PeerPID returns the process at the other end of a unix socket, or 0 where it is in a container that we do not see into.
func PeerPID(c *net.UnixConn) int {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	pid := 0
	err = raw.Control(func(fd uintptr) {
		if cred, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED); err == nil {
			pid = int(cred.Pid)
		}
	})
	if err != nil {
		return 0
	}
	return pid
}
