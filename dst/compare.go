package dst

import (
	"fmt"
)

// A Result is what a scenario came to.
type Result struct {
	Clients   int
	Handled   int // messages, in one run
	Sent      int
	Happened  int // in all runs: computing, writing, arriving, settling
	Lost      int // runs in which a connection ended
	Failed    int // of them, those that ended with it
	Restarted int // clients that were started again
	Crashes   int // of the server
	Returned  int // clients that outlived it
	Driven    int // stretches of runs that were driven
}

// Run draws the scenario of a seed and runs it in several orders. It fails if something happens that must not, or if a run differs
// from the plain computation.
func Run(seed uint64) (Result, error) {
	s, err := draw(seed)
	if err != nil {
		return Result{}, err
	}
	want := compute(s)
	result := Result{Clients: len(s.clients)}
	for _, transcript := range want {
		for i := range transcript {
			switch transcript[i].what {
			case 'm':
				result.Handled++
			case 's':
				result.Sent++
			}
		}
	}
	var first *network
	for schedule := uint64(1); schedule <= Schedules; schedule++ {
		n, err := newNetwork(s, schedule)
		if err != nil {
			return result, err
		}
		if err = n.run(); err == nil {
			err = n.compare(want, first)
		}
		result.Happened += n.happened
		result.Driven += n.stretches
		result.Restarted += n.restarted
		result.Crashes += n.crashes
		result.Returned += n.returned
		if n.disturbed {
			result.Lost++
			if n.failed != nil {
				result.Failed++
			}
		}
		if err != nil {
			return result, fmt.Errorf("schedule %d: %w", schedule, err)
		}
		if first == nil {
			first = n
		}
	}
	return result, nil
}

// compare compares a run with the plain computation, and its digests with those of the first run. What follows the loss of a client
// depends on when it was lost; where the run ends with it, everybody has seen the beginning of what he would have seen.
func (n *network) compare(want [][]seen, first *network) error {
	if n.disturbed && n.failed == nil {
		return nil
	}
	for i, c := range n.clients {
		if n.disturbed && len(c.transcript) < len(want[i]) {
			want[i] = want[i][:len(c.transcript)]
		}
		for k := range max(len(want[i]), len(c.transcript)) {
			a, b := entry(want[i], k), entry(c.transcript, k)
			if a != b {
				return fmt.Errorf("%s: thing %d is %v; the plain computation has %v", c.name, k, b, a)
			}
		}
	}
	if first == nil || n.disturbed {
		return nil
	}
	if a, b := first.ledger.Digest(), n.ledger.Digest(); a != b {
		return fmt.Errorf("the transcripts are equal, the digests are not: %v, %v", a, b)
	}
	if a, b := first.ledger.SendsDigest(), n.ledger.SendsDigest(); a != b {
		return fmt.Errorf("the transcripts are equal, the digests of sends are not: %v, %v", a, b)
	}
	return nil
}

func entry(transcript []seen, k int) seen {
	if k < len(transcript) {
		return transcript[k]
	}
	return seen{}
}

func (s seen) String() string {
	switch s.what {
	case 'm':
		return fmt.Sprintf("at %v message %d of %s on %s, sent %v, due %v, payload %x", s.at, s.seq, s.from, s.channel, s.sent, s.due, s.payload)
	case 's':
		return fmt.Sprintf("at %v a send on %s, payload %x", s.at, s.channel, s.payload)
	case 't':
		return fmt.Sprintf("at %v a timer", s.at)
	case 'a':
		return fmt.Sprintf("at %v an act", s.at)
	case 'l':
		return fmt.Sprintf("at %v the end", s.at)
	}
	return "nothing"
}
