package stream

import (
	"runtime"
	"sync/atomic"
	"time"
)

// A Read that sleeps costs two switches of the processor, and the waking of a processor that went idle meanwhile: 5 to 100 µs, where the peer of a lock step answers after a
// few. So a Read polls before it sleeps, for as long as a sleep costs: whatever the peer does, that takes at most twice the time of the better choice (A. R. Karlin et al.,
// "Empirical Studies of Competitive Spinning for a Shared-Memory Multiprocessor", SOSP 1991). A peer that takes longer is soon polled only now and then.
const (
	// pollLimit is for how long a Read polls: what a sleep costs where processors go idle, on a virtual machine.
	pollLimit = 200 * time.Microsecond
	// stolen is what a poll takes where a yield gave the processor to somebody who computes: a sleeper would have had it back as soon as the answer came.
	stolen = 5 * pollLimit
	// A poll in vain counts for lateVain, or stolenVain, of those that pay: it costs more than they save.
	lateVain, stolenVain = 2, 4
	// mostVain is the count from which on one Read in 2^mostVain polls.
	mostVain = 10
)

// Counts of Reads of this process. Those that poll leave one processor to whoever has something to do; and where many read, nobody polls: that many peers
// have enough to do for all processors, so none goes idle.
var (
	reading atomic.Int32 // that have begun, and not returned
	polling atomic.Int32 // of these, that poll
)

// A connection is polled for good after paidOften polls that paid, and slept for when one Read in 2^vainOften polls, or none.
const (
	paidOften = 64
	vainOften = 4
)

// A settler is a stream that can be where it is cheap to poll it, or where it is cheap to sleep until it is ready.
type settler interface{ settle(polled bool) }

// many is how many Reads for each processor are many.
const many = 2

// A poller knows whether it pays to poll one connection.
type poller struct {
	now    func() time.Time
	yield  func() bool       // lets others have this processor; false: this system cannot
	settle func(polled bool) // of a settler
	vain   int               // the count of polls in vain, less those that paid
	paid   int               // polls that paid since the last in vain
	sleep  int               // Reads from now on that do not poll
}

func newPoller(s Stream) poller {
	p := poller{now: time.Now, yield: yield, settle: func(bool) {}}
	if s, ok := s.(settler); ok {
		p.settle = s.settle
	}
	return p
}

// await calls ready until it reports that a Read need not sleep, or until that has taken as long as a sleep costs.
func (p *poller) await(ready func() bool) {
	if p.sleep > 0 {
		p.sleep--
		return
	}
	processors := int32(runtime.GOMAXPROCS(0))
	if reading.Load() > many*processors {
		p.paid = 0
		p.settle(false)
		return
	}
	took := stolen
	if polling.Add(1) < processors {
		took = p.poll(ready)
	}
	polling.Add(-1)
	switch {
	case took >= stolen:
		p.vain, p.paid = min(p.vain+stolenVain, mostVain), 0
	case took > pollLimit:
		p.vain, p.paid = min(p.vain+lateVain, mostVain), 0
	default:
		p.vain, p.paid = max(p.vain-1, 0), p.paid+1
	}
	p.sleep = max(1<<p.vain-2, 0)
	if p.paid >= paidOften || p.vain >= vainOften {
		p.settle(p.paid >= paidOften)
	}
}

// poll returns how long it took until the peer answered, or pollLimit was over. Each look is followed by a yield: the peer may need this very processor.
func (p *poller) poll(ready func() bool) time.Duration {
	for begun := p.now(); ; {
		came := ready()
		if took := p.now().Sub(begun); came || took > pollLimit {
			return took
		}
		if !p.yield() {
			return stolen
		}
	}
}
