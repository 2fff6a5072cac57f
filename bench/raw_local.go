package bench

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"google.golang.org/protobuf/proto"

	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/wirepb"
)

// rawLocal returns the floors of what happens in one process.
func rawLocal() []workload {
	list := []workload{{
		name: "raw goroutine ping-pong", unit: "round trips/s", first: 1000, measure: measureGoroutines,
	}}
	for _, n := range []int{100, 1000, 2048, 10_000} {
		list = append(list, workload{
			name: "raw heap", params: Params{"n": n}, unit: "pops and pushes/s", first: 1000,
			measure: func(_ context.Context, _ *harness, amount int) (sample, error) {
				return rate(float64(amount), churnHeap(n, amount)), nil
			},
		}, workload{
			name: "raw heap time", params: Params{"n": n}, unit: "us per pop and push", cost: true, first: 1000,
			measure: func(_ context.Context, _ *harness, amount int) (sample, error) {
				took := churnHeap(n, amount)
				return sample{value: micros(took, amount), took: took}, nil
			},
		})
	}
	return append(list, workload{
		name: "raw codec", params: Params{"code": "generated", "size": 64}, unit: "messages/s", first: 100, measure: measureGenerated,
	}, workload{
		name: "raw codec", params: Params{"code": "wire", "size": 64}, unit: "messages/s", first: 100, measure: measureCodec,
		floor: "raw codec code=generated size=64",
	})
}

// clocked calls once `amount` times and returns the rate. Each call counts as `each` operations.
func clocked(amount, each int, once func() error) (sample, error) {
	began := time.Now()
	for range amount {
		if err := once(); err != nil {
			return sample{}, err
		}
	}
	return rate(float64(amount*each), time.Since(began)), nil
}

// measureGoroutines passes a value back and forth.
func measureGoroutines(_ context.Context, _ *harness, amount int) (sample, error) {
	there, back := make(chan int), make(chan int)
	var other sync.WaitGroup
	other.Go(func() {
		for v := range there {
			back <- v
		}
	})
	defer other.Wait()
	defer close(there)
	return clocked(amount, 1, func() error {
		there <- 1
		<-back
		return nil
	})
}

// A timedEvent is an entry of a heap of times.
type timedEvent struct {
	at metasim.Time
	id uint32
}

// An eventHeap is the plainest fast heap: binary, of values. It is a floor, and so does not use internal/pq.
type eventHeap []timedEvent

func (h *eventHeap) push(a timedEvent) {
	*h = append(*h, a)
	s := *h
	i := len(s) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if s[parent].at <= a.at {
			break
		}
		s[i] = s[parent]
		i = parent
	}
	s[i] = a
}

func (h *eventHeap) pop() timedEvent {
	s := *h
	top, last := s[0], s[len(s)-1]
	s = s[:len(s)-1]
	*h = s
	i := 0
	for {
		child := 2*i + 1
		if child >= len(s) {
			break
		}
		if child+1 < len(s) && s[child+1].at < s[child].at {
			child++
		}
		if last.at <= s[child].at {
			break
		}
		s[i] = s[child]
		i = child
	}
	if len(s) > 0 {
		s[i] = last
	}
	return top
}

// churnHeap pops and pushes on a heap of n: the event list of a simulation that does nothing.
func churnHeap(n, amount int) time.Duration {
	gaps := exponentialGaps(1000)
	var h eventHeap
	for i := range n {
		h.push(timedEvent{at: gaps[i%len(gaps)], id: uint32(i)})
	}
	began := time.Now()
	for i := range amount {
		a := h.pop()
		a.at += gaps[i%len(gaps)]
		h.push(a)
	}
	return time.Since(began)
}

// exponentialGaps are draws made in advance: what draws cost is not what is measured.
func exponentialGaps(mean metasim.Time) []metasim.Time {
	r := rand.New(rand.NewPCG(1, 2))
	gaps := make([]metasim.Time, 1<<12)
	for i := range gaps {
		gaps[i] = 1 + metasim.Time(r.ExpFloat64()*float64(mean))
	}
	return gaps
}

// packetsPerFrame is how many messages the codec is given at once.
const packetsPerFrame = 64

func measureCodec(_ context.Context, _ *harness, amount int) (sample, error) {
	var packets []wire.Packet
	for range packetsPerFrame {
		packets = append(packets, wire.Packet{Member: 1, Body: &metasim.Send{
			Channel: "CHANNEL", Sent: metasim.At(1e9), Payload: make([]byte, 64),
		}})
	}
	var e wire.Encoder
	var d wire.Decoder
	return clocked(amount, packetsPerFrame, func() error {
		frame, err := e.Frames(packets)
		if err != nil {
			return err
		}
		_, err = d.Packets(frame[4:]) // after the length
		return err
	})
}

func measureGenerated(_ context.Context, _ *harness, amount int) (sample, error) {
	frame := &wirepb.Frame{}
	for range packetsPerFrame {
		frame.Packets = append(frame.Packets, &wirepb.Packet{Member: 1, Body: &wirepb.Packet_SendMessage{SendMessage: &wirepb.SendMessage{
			Channel: "CHANNEL", Sent: &wirepb.Instant{Time: 1e9}, Payload: make([]byte, 64),
		}}})
	}
	var buf []byte
	return clocked(amount, packetsPerFrame, func() (err error) {
		if buf, err = (proto.MarshalOptions{}).MarshalAppend(buf[:0], frame); err != nil {
			return err
		}
		return proto.Unmarshal(buf, &wirepb.Frame{})
	})
}
