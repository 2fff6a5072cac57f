package run

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A disk that hangs is waited for, and named; an interrupted run leaves it.
func TestOnDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, interrupt := context.WithCancel(t.Context())
		said, began := 0, time.Now()
		late := errors.New("late")
		err := onDisk(ctx, func() { said++ }, func() error {
			<-time.After(time.Hour)
			return late
		})
		require.Equal(t, late, err, "it takes as long as it takes")
		require.Equal(t, 1, said)
		require.Equal(t, time.Hour, time.Since(began))

		began = time.Now()
		interrupt()
		err = onDisk(ctx, func() {}, func() error {
			<-time.After(time.Hour)
			return nil
		})
		require.Equal(t, errDisk, err)
		require.Equal(t, hungTime, time.Since(began))
		require.NoError(t, onDisk(ctx, func() {}, func() error { return nil }))
		<-time.After(time.Hour)
	})
}

// However often the output of a client is looked at on a disk that hangs, one look waits for the disk.
func TestGlance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g glance
		began, reads := time.Now(), atomic.Int32{}
		hangs := func() []string {
			reads.Add(1)
			<-time.After(time.Hour)
			return []string{"late"}
		}
		for range 3 {
			require.Empty(t, g.take(hangs))
		}
		require.EqualValues(t, 1, reads.Load())
		require.Equal(t, glanceTime, time.Since(began))
		<-time.After(time.Hour)
		synctest.Wait()
		require.Equal(t, []string{"x"}, g.take(func() []string { return []string{"x"} }))
	})
}
