//go:build unix

package descriptors

import (
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A few descriptors are left when they are scarce.
func TestScarce(t *testing.T) {
	var before syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before))
	lower := before
	lower.Cur = 100
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &lower))
	var opened []*os.File
	defer func() {
		for _, f := range opened {
			require.NoError(t, f.Close())
		}
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before))
	}()
	require.Equal(t, 100, Limit())
	for !Scarce(16) {
		f, err := os.Open(os.DevNull)
		require.NoError(t, err)
		opened = append(opened, f)
	}
	require.Greater(t, len(opened), 50)
	for range 16 {
		f, err := os.Open(os.DevNull)
		require.NoError(t, err, "16 are left")
		opened = append(opened, f)
	}
	_, err := os.Open(os.DevNull)
	require.ErrorIs(t, err, syscall.EMFILE)
	require.True(t, Scarce(0))
}
