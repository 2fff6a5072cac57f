package cartpole

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"metasim/metasim"
)

const ms = metasim.Millisecond

// A network between the three parts: a message takes from delay to delay + jitter, and is lost with probability loss.
type network struct {
	delay, jitter metasim.Time
	loss          float64
	rng           *rand.Rand
	now           metasim.Time
	calendar      map[metasim.Time][]func()
}

// send has f called when the message arrives, on the next whole millisecond, if it arrives.
func (n *network) send(f func()) {
	if n.rng.Float64() < n.loss {
		return
	}
	at := n.now + n.delay
	if n.jitter > 0 {
		at += metasim.Time(n.rng.Int64N(int64(n.jitter)))
	}
	at = (at + ms - 1) / ms * ms
	n.calendar[at] = append(n.calendar[at], f)
}

// demo is the cart-pole in one loop of a millisecond, by the numbers of this package and nothing of metasim. It
// returns how far the pole went from upright, in degrees, and whether it still stands.
func demo(n network, until metasim.Time) (worst float64, stood bool) {
	n.calendar = map[metasim.Time][]func(){}
	plant, force := plantState{Angle: 5 * degree}, command{Time: -1}
	observer, latest := estimator{}, estimate{Time: -1}
	for ; n.now < until; n.now += ms {
		for _, arrive := range n.calendar[n.now] {
			arrive()
		}
		delete(n.calendar, n.now)
		if n.now%(5*ms) == 0 {
			m := measure(n.now, plant, force.Force, 1, n.rng)
			n.send(func() {
				e, fresh := observer.Observe(m)
				if !fresh {
					return
				}
				n.send(func() {
					if e.Time > latest.Time {
						latest = e
					}
				})
			})
		}
		if n.now%(10*ms) == 0 && latest.Time >= 0 {
			c := command{Time: n.now, Force: push(latest.State, 20)}
			n.send(func() {
				if c.Time > force.Time {
					force = c
				}
			})
		}
		plant = plant.Step(force.Force, 1e-3)
		worst = max(worst, math.Abs(plant.Angle)/degree)
	}
	return worst, !plant.Fallen()
}

// The demo's claim: over a quick network the pole stands, whatever is lost, and a slow one loses it. Measured with a
// fifth of jitter and up to 5 % loss in each direction: it stands up to 25 ms a hop and falls from 30 ms on; there are
// three hops from the pole's movement to the force that answers it.
func TestThePoleStandsUntilTheNetworkIsSlow(t *testing.T) {
	for _, c := range []struct {
		delay metasim.Time
		loss  float64
		stood bool
		worst float64 // degrees
	}{
		{5 * ms, 0, true, 6}, {5 * ms, 0.05, true, 6}, {10 * ms, 0.01, true, 6}, {10 * ms, 0.05, true, 6},
		{20 * ms, 0.05, true, 10}, {25 * ms, 0.05, true, 30},
		{30 * ms, 0, false, 90}, {60 * ms, 0, false, 90}, {100 * ms, 0.05, false, 90},
	} {
		t.Run(fmt.Sprintf("%v loss %v", c.delay, c.loss), func(t *testing.T) {
			for seed := range uint64(5) {
				rng := rand.New(rand.NewPCG(seed, 1))
				n := network{delay: c.delay, jitter: c.delay / 5, loss: c.loss, rng: rng}
				worst, stood := demo(n, 20*metasim.Second)
				assert.Equal(t, c.stood, stood, "seed %d", seed)
				assert.LessOrEqual(t, worst, c.worst+1e-9, "seed %d", seed)
			}
		})
	}
}
