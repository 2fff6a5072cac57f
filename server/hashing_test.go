package server

import (
	"bytes"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

// Digests that are computed beside the turn are those that are computed in it, whether or not a goroutine may be started, and however many messages wait.
func TestHashingBesideTheTurn(t *testing.T) {
	names := []string{"a", "b", "c"}
	for _, spawns := range []int{0, 1, 1 << 30} { // how often a goroutine may be started
		draw := rand.New(rand.NewPCG(7, uint64(spawns)))
		plain, ledger := metasim.NewLedger(names), metasim.NewLedger(names)
		var tasks sync.WaitGroup
		left := spawns
		h := newHashing(ledger, func(f func()) bool {
			if left == 0 {
				return false
			}
			left--
			tasks.Go(f)
			return true
		})
		acked := make([]uint64, len(names))
		for i := range 30 {
			size := []int{0, 100, leastBeside - 1, leastBeside, leastBeside + 5}[draw.IntN(5)]
			to, at := metasim.ClientID(draw.IntN(3)), metasim.At(metasim.Time(i))
			payload := bytes.Repeat([]byte{byte(i)}, size)
			acked[to]++
			for _, l := range []*metasim.Ledger{plain, ledger} {
				l.Observe(&metasim.Send{Client: 1, Channel: "C", Sent: at, Payload: payload}, nil)
				l.Observe(nil, []metasim.Effect{&metasim.Deliver{To: to, Number: acked[to], Message: metasim.Message{From: 1, Seq: uint64(i), Channel: "C", Sent: at, Due: at, Payload: payload}}})
				l.Observe(&metasim.Advance{Client: to, Report: metasim.Report{Now: at, Acked: acked[to]}}, nil)
			}
			if draw.IntN(8) == 0 {
				h.sends.wait()
				require.Equal(t, plain.SendsOf(1), ledger.SendsOf(1))
			}
		}
		h.sends.wait()
		h.deliveries.wait()
		require.Equal(t, plain.Digest(), ledger.Digest(), spawns)
		require.Equal(t, plain.SendsDigest(), ledger.SendsDigest(), spawns)
		require.Zero(t, h.sends.bytes+h.deliveries.bytes)
		tasks.Wait()
	}
}

// What waits to be hashed is bounded: the turn waits for it.
func TestHashingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ledger := metasim.NewLedger([]string{"a"})
		var run func()
		h := newHashing(ledger, func(f func()) bool { run = f; return true })
		send := func() {
			ledger.Observe(&metasim.Send{Channel: "C", Payload: make([]byte, leastBeside)}, nil)
		}
		send()
		h.sends.bytes += mostBeside
		sent := false
		go func() { send(); sent = true }()
		synctest.Wait()
		require.False(t, sent)
		h.sends.bytes -= mostBeside
		run()
		synctest.Wait()
		require.True(t, sent)
		run() // the second was too late for the first goroutine
		h.sends.wait()
		require.Zero(t, h.sends.bytes)
		require.NotEqual(t, metasim.NewLedger([]string{"a"}).SendsOf(0), ledger.SendsOf(0))
	})
}
