//go:build !linux

package shm_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/wire/transport/shm"
)

// On a system without shared memory the error is errors.ErrUnsupported.
func TestUnsupported(t *testing.T) {
	_, err := shm.Transport().Listen("shm:///tmp/s")
	require.ErrorIs(t, err, errors.ErrUnsupported)
	_, err = shm.Transport().Dial(t.Context(), "shm:///tmp/s")
	require.ErrorIs(t, err, errors.ErrUnsupported)
	require.ErrorContains(t, err, "use unix:///path")
}
