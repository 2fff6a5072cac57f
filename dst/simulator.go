package dst

import (
	"encoding/binary"
	"hash/fnv"

	"metasim/metasim"
)

func newSimulator(s *scenario, i int, p port) *simulator {
	c := &s.clients[i]
	return &simulator{spec: c, port: p, state: mix(s.seed, uint64(i)), left: c.sends}
}

func (s *simulator) note(e seen) {
	e.at = s.now
	s.transcript = append(s.transcript, e)
}

// begin initializes, at the start.
func (s *simulator) begin() {
	if s.start {
		s.send(3)
	}
	if s.style != handles {
		s.target = s.period
		return
	}
	for _, t := range s.timers {
		s.set(metasim.At(t), 3)
	}
	if s.every {
		s.stop = s.port.every(s.period, func() { s.timer(1) })
	}
}

// act does what a client that steps or waits for the next message does at the instant that it has reached.
func (s *simulator) act(now metasim.Instant) {
	s.now = now
	s.note(seen{what: 'a'})
	s.state = mix(s.state, uint64(now.Time), uint64(now.Step))
	sends := s.state % 3
	if s.floods {
		sends = 1 + s.state%2
	}
	for range sends {
		s.state = mix(s.state)
		s.send(byte(s.state % 4))
	}
	s.target = now.Time + s.period
	if s.style == nexts {
		s.target = now.Time + 1 + metasim.Time(s.state%uint64(s.period))
	}
	s.end()
}

// message handles a message.
func (s *simulator) message(now metasim.Instant, m *message) {
	s.now = now
	hash := hashOf(m.Payload)
	s.note(seen{what: 'm', from: m.From, channel: m.Channel, seq: m.Seq, sent: m.Sent, due: m.Due, payload: hash})
	s.state = mix(s.state, hashOf([]byte(m.From)), m.Seq, uint64(m.Due.Time), uint64(m.Due.Step), hash)
	if s.style != handles {
		return
	}
	if hops := m.Payload[0]; hops > 0 && s.state%4 > 0 {
		if s.reaction == 0 && s.state%3 == 0 {
			s.send(hops - 1)
		} else {
			s.set(metasim.Later(now.React(s.reaction), s.promised), hops-1)
		}
	}
	s.end()
}

// set sets a timer.
func (s *simulator) set(at metasim.Instant, hops byte) {
	stop := s.port.at(at, func() { s.timer(hops) })
	if s.state%11 == 0 {
		stop()
	}
}

// timer is the handler of a timer.
func (s *simulator) timer(hops byte) {
	s.note(seen{what: 't'})
	s.state = mix(s.state, uint64(s.now.Time), uint64(hops))
	s.send(hops)
	if s.stop != nil && (s.state%5 == 0 || s.left == 0) {
		s.stop()
		s.stop = nil
	}
	s.end()
}

// end is done at the end of each handler.
func (s *simulator) end() {
	if s.spec.leave > 0 && s.now.Time > s.spec.leave {
		s.leaves = true
		s.note(seen{what: 'l'})
		s.port.leave()
		return
	}
	if s.promises && s.state%3 == 0 {
		s.promised = metasim.Later(s.promised, metasim.At(s.now.Time+1+metasim.Time(s.state%20)))
		s.port.promise(s.promised.Time)
	}
}

// send publishes now, unless the client has promised not to.
func (s *simulator) send(hops byte) {
	if len(s.pubs) == 0 || s.left == 0 || s.now.Before(s.promised) {
		return
	}
	s.left--
	payload := binary.LittleEndian.AppendUint64([]byte{hops}, s.state)
	payload = append(payload, make([]byte, int(s.state>>8)%s.size)...)
	if s.floods {
		payload = append(payload, make([]byte, 400)...)
	}
	channel := s.pubs[s.state%uint64(len(s.pubs))]
	s.note(seen{what: 's', channel: channel, payload: hashOf(payload)})
	s.port.publish(channel, payload)
}

func hashOf(b []byte) uint64 {
	h := fnv.New64a()
	_, _ = h.Write(b) // a hash never fails
	return h.Sum64()
}
