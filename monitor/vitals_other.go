//go:build !linux

package monitor

// probe knows nothing: this system does not show its processes as files.
func probe(int) glimpse { return glimpse{} }

// worker cannot look for anybody else.
func worker(pid int) int { return pid }
