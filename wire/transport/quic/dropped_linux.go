package quic

import (
	"net"
	"syscall"
	"unsafe"
)

// dropped returns how many datagrams a socket had no room for.
func dropped(packets net.PacketConn) uint64 {
	udp, ok := packets.(*net.UDPConn)
	if !ok {
		return 0
	}
	raw, err := udp.SyscallConn()
	if err != nil {
		return 0
	}
	const meminfo = 55    // SO_MEMINFO, Linux 4.12
	var numbers [9]uint32 // the last is SK_MEMINFO_DROPS
	size := uint32(unsafe.Sizeof(numbers))
	err = raw.Control(func(fd uintptr) {
		_, _, _ = syscall.Syscall6(syscall.SYS_GETSOCKOPT, fd, syscall.SOL_SOCKET, meminfo, // an older Linux leaves them 0
			uintptr(unsafe.Pointer(&numbers)), uintptr(unsafe.Pointer(&size)), 0)
	})
	if err != nil {
		return 0
	}
	return uint64(numbers[8])
}
