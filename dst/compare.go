package dst

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"metasim/metasim"
)

// Run draws the scenario of a seed and runs it in several orders. It fails if something happens that must not, or if a run differs
// from the plain computation.
func Run(seed uint64) (Result, error) {
	s, err := draw(seed)
	if err != nil {
		return Result{}, err
	}
	want := compute(s, nil)
	result := Result{countClients: len(s.clients)}
	for c, transcript := range want {
		s.sees = append(s.sees, len(transcript))
		if last, leave := &transcript[len(transcript)-1], s.clients[c].leave; leave > 0 && leave < last.at.Time {
			result[countLeft]++
		}
		for i := range transcript {
			switch transcript[i].what {
			case 'm':
				result[countHandled]++
			case 's':
				result[countSent]++
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
		result.Add(&n.count)
		if err != nil {
			return result, fmt.Errorf("schedule %d: %w", schedule, err)
		}
		if first == nil {
			first = n
		}
	}
	if err := runNested(s, want, first, &result); err != nil {
		return result, fmt.Errorf("nested: %w", err)
	}
	return result, nil
}

// runNested runs a scenario as two runs, of which one is nested in the other. It fails if a client sees anything else than in the plain computation, or if
// the digests are not those of the flat run first.
func runNested(s *scenario, want [][]seen, first *network, count *Result) error {
	n, err := newNest(s)
	if err != nil {
		return err
	}
	if err := n.run(); err != nil {
		return err
	}
	var shares []metasim.Share
	for i := range s.clients {
		part, id := n.of(i), metasim.ClientID(i)
		if err := part.clients[i].compare(want[i]); err != nil {
			return err
		}
		shares = append(shares, metasim.Share{
			Name: s.clients[i].name, Digest: part.ledger.ClientDigest(id), Sent: part.ledger.Account(id).Sent, Sends: part.ledger.SendsOf(id),
		})
	}
	count.Add(&n.outer.count)
	count.Add(&n.inner.count)
	count[countNested]++
	if a, b := first.ledger.Digest(), metasim.RunDigest(slices.Values(shares)); a != b {
		return fmt.Errorf("the transcripts are equal, the digests are not: %v, %v", a, b)
	}
	if a, b := first.ledger.SendsDigest(), metasim.RunSendsDigest(slices.Values(shares)); a != b {
		return fmt.Errorf("the transcripts are equal, the digests of sends are not: %v, %v", a, b)
	}
	return nil
}

// Add adds what there was in other runs.
func (r *Result) Add(o *Result) {
	for i, n := range o {
		r[i] += n
	}
}

// String has a line for each count.
func (r *Result) String() string {
	var b strings.Builder
	for i, of := range [counts]string{
		countClients:     "clients in all scenarios",
		countLeft:        "of them left before the end",
		countSent:        "messages sent, in one run of each scenario",
		countHandled:     "messages handled, likewise",
		countHappened:    "things happened in all runs: computing, writing, arriving, settling",
		countSlow:        "connections were seldom read",
		countShort:       "runs in which a client waited for memory",
		countDriven:      "stretches of driven runs",
		countLost:        "runs lost clients that were not started again",
		countFailed:      "of them ended with that",
		countDetached:    "clients were lost, and their runs went on",
		countRestarted:   "clients were started again",
		countAlone:       "clients died alone on a connection that they shared",
		countShared:      "clients came back over a connection of several",
		countSaved:       "checkpoints",
		countBegun:       "clients began at one",
		countCrashes:     "servers crashed",
		countTorn:        "journals had a torn end then",
		countReturned:    "clients outlived their server",
		countNested:      "runs more, in which one run was nested in another",
		countCrossed:     "messages went from one to the other",
		countNestedAgain: "clients were started again in them",
	} {
		fmt.Fprintf(&b, "%12d %s\n", r[i], of)
	}
	return b.String()
}

// compare compares a run with the plain computation, and its digests with those of the first run. Where the run goes on without a client,
// the others have seen what the plain computation has if no more of its messages are heard than had reached the dispatcher. A client that was
// lost has seen the beginning of that, and so has everybody where the run has ended with a loss.
func (n *network) compare(want [][]seen, first *network) error {
	cut := n.cutOff()
	if slices.Contains(cut, true) {
		heard := make([]uint64, len(cut))
		for i := range heard {
			if heard[i] = math.MaxUint64; cut[i] {
				heard[i] = n.ledger.Account(metasim.ClientID(i)).Sent
			}
		}
		want = compute(n.scenario, heard)
	}
	for i, c := range n.clients {
		want := want[i]
		if n.failed != nil || cut[i] {
			want = want[:min(len(want), len(c.transcript))]
		}
		if err := c.compare(want); err != nil {
			return err
		}
	}
	if first == nil || n.failed != nil || slices.Contains(cut, true) {
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

// compare compares what a client has seen and done with what it should have.
func (c *client) compare(want []seen) error {
	for k := range max(len(want), len(c.transcript)) {
		a, b := entry(want, k), entry(c.transcript, k)
		if a != b {
			return fmt.Errorf("%s: thing %d is %v; the plain computation has %v", c.name, k, b, a)
		}
	}
	return nil
}

// cutOff says without which clients the run has gone on.
func (n *network) cutOff() []bool {
	cut := make([]bool, len(n.clients))
	for i := range cut {
		cut[i] = n.ledger.Account(metasim.ClientID(i)).Cut
	}
	return cut
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
