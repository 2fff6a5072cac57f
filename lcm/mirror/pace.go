package mirror

import "time"

// How many messages, with their companions, go to a lossy network in a millisecond.
const (
	// burst is for when few wait: liblcm keeps 30 messages for a subscription until its program comes to handle them, and a
	// run sends many at one instant.
	burst = 10
	few   = 1000
	// flood is for when more wait. It is a bound, too: nobody reads more over UDP, and the processors that it would take are
	// those of the run.
	flood = 300
)

// spread sends messages over a lossy network, some each millisecond.
func (m *Mirror) spread(batch []sight) {
	for len(batch) > 0 {
		n, late := burst, time.Duration(0)
		if len(batch)+m.backlog() > few {
			n, late = flood, 5*gather
		}
		n = min(n, len(batch))
		m.pace.wait(late)
		m.sender.send(batch[:n])
		batch = batch[n:]
	}
}

func (m *Mirror) backlog() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.waiting)
}

// A pace is when to send next.
type pace struct{ next time.Time }

// wait returns a millisecond after the wait before, or sooner if that one returned late: as much as late is made up for.
func (p *pace) wait(late time.Duration) {
	now := time.Now()
	if now.Before(p.next) {
		time.Sleep(p.next.Sub(now))
	}
	if oldest := now.Add(-late); p.next.Before(oldest) {
		p.next = oldest
	}
	p.next = p.next.Add(gather)
}
