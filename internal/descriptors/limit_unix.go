//go:build unix

package descriptors

import "syscall"

func limit() int {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return unlimited
	}
	return int(min(uint64(l.Cur), unlimited))
}
