//go:build !linux

package shm

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"metasim/wire"
)

// listenURL fails with errors.ErrUnsupported: only Linux has what this transport needs.
func listenURL(url string) (wire.Listener, error) { return nil, unsupported(url) }

// dialURL fails with errors.ErrUnsupported.
func dialURL(_ context.Context, url string) (wire.Conn, error) { return nil, unsupported(url) }

func unsupported(url string) error {
	return fmt.Errorf("%s has no shared memory with futexes and seals, which %q needs (%w); use unix:///path",
		runtime.GOOS, url, errors.ErrUnsupported)
}
