//go:build !linux

package bus

import (
	"errors"
	"net"
)

// forceBuffer does nothing on this system.
func forceBuffer(*net.UDPConn, int) error { return errors.ErrUnsupported }
