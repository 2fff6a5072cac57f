package stream

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A polled is a peer that answers some time after a Read has begun, as its poller sees it. Each yield takes a microsecond.
type polled struct {
	poller
	clock   time.Time
	looks   int
	settled []bool // calls of settle
}

// newPolled makes one in a process with two processors, also where the machine has one, on which nobody polls.
func newPolled(t *testing.T) *polled {
	processors := runtime.GOMAXPROCS(2)
	t.Cleanup(func() { runtime.GOMAXPROCS(processors) })
	p := &polled{clock: time.Unix(0, 0)}
	p.settle = func(polled bool) { p.settled = append(p.settled, polled) }
	p.now = func() time.Time { return p.clock }
	p.yield = func() bool {
		p.clock = p.clock.Add(time.Microsecond)
		return true
	}
	return p
}

// read has the peer answer after so long, and returns for how long the poller polled.
func (p *polled) read(after time.Duration) time.Duration {
	begun := p.clock
	p.looks = 0
	p.await(func() bool {
		p.looks++
		return p.clock.Sub(begun) >= after
	})
	return p.clock.Sub(begun)
}

func TestAPeerThatAnswersSoonIsPolled(t *testing.T) {
	p := newPolled(t)
	for range 100 {
		require.Equal(t, 10*time.Microsecond, p.read(10*time.Microsecond))
	}
}

// One poll in vain costs what a sleep costs, and those of a peer that is never soon are nothing beside its sleeps.
func TestAPeerThatAnswersLateIsPolledSeldom(t *testing.T) {
	p := newPolled(t)
	var polls []int // the Reads that polled
	var cost time.Duration
	const reads = 10_000
	for i := range reads {
		spent := p.read(time.Millisecond)
		if p.looks > 0 {
			polls = append(polls, i)
			require.Greater(t, spent, pollLimit)
			require.LessOrEqual(t, spent, pollLimit+time.Microsecond)
		}
		cost += spent
	}
	require.Equal(t, []int{0, 3, 18, 81, 336, 1359, 2382}, polls[:7])
	require.Equal(t, 1<<mostVain-1, polls[len(polls)-1]-polls[len(polls)-2])
	require.Less(t, cost, reads*pollLimit/500)
	soon := 0 // Reads of a peer that has become soon, until each is polled
	for p.vain > 0 {
		p.read(time.Microsecond)
		soon++
	}
	require.Less(t, soon, 2<<mostVain)
}

// Half of the answers are late: then it does not pay.
func TestAPeerThatAnswersSoonNowAndThen(t *testing.T) {
	p := newPolled(t)
	polls := 0
	for i := range 10_000 {
		p.read(time.Duration(i%2) * 2 * pollLimit)
		polls += min(p.looks, 1)
	}
	require.Less(t, polls, 2000)
}

// Where a yield gives the processor to somebody who computes, an answer in time is luck: a sleeper is woken at once.
func TestAProcessorThatIsWantedIsNotPolledOn(t *testing.T) {
	p := newPolled(t)
	p.yield = func() bool {
		p.clock = p.clock.Add(stolen)
		return true
	}
	p.read(time.Microsecond)
	require.Equal(t, stolenVain, p.vain)

	p = newPolled(t)
	p.yield = func() bool { return false }
	p.read(time.Microsecond)
	require.Equal(t, 1, p.looks, "a system that cannot yield")
	require.Equal(t, stolenVain, p.vain)
}

// Somebody must be able to compute what is waited for.
func TestOneProcessorIsNotPolledOn(t *testing.T) {
	p := newPolled(t)
	already := int32(runtime.GOMAXPROCS(0)) - 1
	polling.Add(already)
	defer polling.Add(-already)
	p.read(time.Microsecond)
	require.Zero(t, p.looks)
	require.Equal(t, stolenVain, p.vain)
}

// A process that reads many connections has enough to do, and where it reads few again, it polls again.
func TestManyConnectionsAreNotPolled(t *testing.T) {
	p := newPolled(t)
	few := int32(many * runtime.GOMAXPROCS(0))
	reading.Add(few + 1)
	p.read(time.Microsecond)
	require.Zero(t, p.looks)
	reading.Add(-1)
	p.read(time.Microsecond)
	reading.Add(-few)
	require.Positive(t, p.looks)
	require.Zero(t, p.vain)
}

// A connection is where it is polled once that has paid for a while, and where it sleeps when it hardly pays any more, or many read.
func TestAConnectionSettles(t *testing.T) {
	p := newPolled(t)
	for range paidOften - 1 {
		p.read(time.Microsecond)
	}
	require.Empty(t, p.settled)
	p.read(time.Microsecond)
	require.Equal(t, []bool{true}, p.settled)
	p.read(time.Hour)
	require.Equal(t, []bool{true}, p.settled, "one in vain")
	for p.vain < vainOften {
		p.read(time.Hour)
	}
	require.Equal(t, []bool{true, false}, p.settled)

	p = newPolled(t)
	few := int32(many*runtime.GOMAXPROCS(0)) + 1
	reading.Add(few)
	p.read(time.Microsecond)
	reading.Add(-few)
	require.Equal(t, []bool{false}, p.settled)
}
