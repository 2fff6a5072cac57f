//go:build !linux

package stream

// yield cannot be had here without a thread that Go wakes for it.
func yield() bool { return false }
