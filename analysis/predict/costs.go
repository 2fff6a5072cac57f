package predict

// A cost is what it takes the server and one client to communicate, in nanoseconds.
type cost struct {
	end   int64 // of a frame: for the writer, and again for the reader
	item  int64 // of each event and message in it, for the client
	serve int64 // of each event and message in it, for the server
	wake  int64 // until a waiting process has noticed the frame; this takes no core
	spin  int64 // afterwards that process looks for more to do, on another core
}

// The usual costs, measured with Go on Linux. On one core a write between processes costs an eighth less, as no process is woken on
// another core.
const (
	insideEnd, insideServe                                          = 300, 500
	outsideEnd, outsideItem, outsideServe, outsideWake, outsideSpin = 8000, 700, 1000, 5000, 20_000
)

// costs are those of a run. The zero value: communication is free, and clients write every report at once.
type costs struct {
	inside  cost // of clients in the server's process
	outside cost
	known   bool
}

// usualCosts returns the usual costs times a factor.
func usualCosts(factor float64) costs {
	times := func(ns float64) int64 { return int64(ns * factor) }
	return costs{
		known:  true,
		inside: cost{end: times(insideEnd), serve: times(insideServe)},
		outside: cost{
			end: times(outsideEnd), item: times(outsideItem), serve: times(outsideServe), wake: times(outsideWake), spin: times(outsideSpin),
		},
	}
}

// cost returns the cost of communicating with a client.
func (s *simulator) cost(c *clientModel) cost {
	r := s.costs.outside
	if c.inside {
		r = s.costs.inside
	}
	if s.cores == 1 && !c.inside {
		r.end, r.wake, r.spin = r.end-r.end/8, 0, 0
	}
	return r
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// ratio returns a/b, or 0 if b is 0.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
