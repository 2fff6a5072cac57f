//go:build !linux

package client

// mark returns false: only Linux says for how long a thread was ready and had no core.
func (t *threads) mark() bool { return false }

func (t *threads) sinceMark() (waited, spent int64) { return 0, 0 }

func (t *threads) close() {}
