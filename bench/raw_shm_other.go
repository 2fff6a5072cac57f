//go:build !linux

package bench

import (
	"errors"
	"io"
)

// sharedMemory says whether this system has the transport shm.
const sharedMemory = false

func listenRawSHM() (rawListener, error) { return nil, errors.ErrUnsupported }

func dialRawSHM(string) (io.ReadWriteCloser, error) { return nil, errors.ErrUnsupported }
