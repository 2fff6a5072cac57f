package stream

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// hostIsSilent reports whether something waits for an answer of the peer's host that has not answered anything for d.
func hostIsSilent(c syscall.Conn, d time.Duration) bool {
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	silent := false
	err = raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			asked := info.Unacked > 0 || info.Probes > 0
			silent = asked && time.Duration(info.Last_ack_recv)*time.Millisecond >= d
		}
	})
	return err == nil && silent
}
