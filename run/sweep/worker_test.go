package sweep

import (
	"io"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// A worker whose coordinator was lost before it gave any order ends, as one does whose orders cease.
func TestAWorkerWithoutOrdersEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, orders := io.Pipe()
		require.ErrorIs(t, Work(t.Context(), in, io.Discard, nil), errNoCoordinator)
		require.NoError(t, orders.Close())
	})
}
