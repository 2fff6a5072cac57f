//go:build !linux

package bus

// A segmenter does nothing on this system.
type segmenter struct{}

func (*segmenter) run([]datagram) int { return 1 }

func (*segmenter) control(int) []byte { return nil }

func (*segmenter) refused(error) bool { return false }
