package bench

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"
)

// lockSize is the bytes of each message of a raw lock step.
const lockSize = 32

// rawLockStep is the floor of a lock step: n clients say that they have arrived, the last one releases all.
func rawLockStep() (list []workload) {
	add := func(n int, p placement) {
		list = append(list, workload{
			name: "raw lock step", params: p.params(Params{"n": n}), unit: "grants/s", first: 50,
			measure: func(ctx context.Context, h *harness, amount int) (sample, error) {
				switch {
				case p.processes == 0:
					return rate(float64(n*amount), lockGoroutines(n, amount)), nil
				case p.packed: // one message for all
					s, err := h.pingPongRaw(ctx, p.transport, n*lockSize, amount)
					s.value *= float64(n)
					return s, err
				}
				return h.lockStepRaw(ctx, p, n, amount)
			},
		})
	}
	for _, n := range lockSizes {
		for _, p := range lockPlacements(n) {
			add(n, p)
		}
	}
	return list
}

// lockGoroutines is a lock step of goroutines: the last one to arrive wakes all.
func lockGoroutines(n, rounds int) time.Duration {
	var (
		mu      sync.Mutex
		arrived int
		round   int
		all     sync.WaitGroup
	)
	released := sync.NewCond(&mu)
	began := time.Now()
	for range n {
		all.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			for r := range rounds {
				if arrived++; arrived == n {
					arrived, round = 0, r+1
					released.Broadcast()
				}
				for round == r {
					released.Wait()
				}
			}
		})
	}
	all.Wait()
	return time.Since(began)
}

// lockStepRaw has one goroutine for each connection; the goroutine that counts the last client answers all.
func (h *harness) lockStepRaw(ctx context.Context, p placement, n, rounds int) (s sample, err error) {
	j := job{Kind: lockJob, Size: lockSize, Count: n / p.processes}
	err = h.withRaw(ctx, p.transport, p.processes, j, func(streams []io.ReadWriteCloser) error {
		var mu sync.Mutex
		arrived := 0
		arrive := func() error {
			mu.Lock()
			defer mu.Unlock()
			if arrived++; arrived < n {
				return nil
			}
			arrived = 0
			var err error
			for _, s := range streams {
				_, e := s.Write(make([]byte, lockSize))
				err = errors.Join(err, e)
			}
			return err
		}
		began := time.Now()
		err := concurrently(n, func(i int) error {
			message := make([]byte, lockSize)
			for range rounds {
				if _, err := io.ReadFull(streams[i], message); err != nil {
					return err
				}
				if err := arrive(); err != nil {
					return err
				}
			}
			return nil
		})
		s = rate(float64(n*rounds), time.Since(began))
		return err
	})
	return s, err
}
