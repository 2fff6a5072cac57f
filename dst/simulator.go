package dst

import (
	"encoding/binary"
	"fmt"

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

// begin initializes: at the start, or before it begins at a checkpoint, where it has sent already.
func (s *simulator) begin(anew bool) {
	s.draw("start")
	if s.start && anew {
		s.send(3)
	}
	if s.style != handles {
		s.target = s.period
		return
	}
	for i, t := range s.timers {
		s.set(metasim.At(t), byte(3-i%3))
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
	s.draw("act")
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
	if s.state%2 == 0 {
		s.draw("message")
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
	if len(s.pubs) == 0 || s.left == 0 || s.now.Before(s.promised) || s.only > 0 && s.now.Time%s.only > 0 {
		return
	}
	s.left--
	size := int(s.state>>8) % s.size
	if s.floods {
		size += 400
	}
	payload := make([]byte, 1+8+size)
	payload[0] = hops
	binary.LittleEndian.PutUint64(payload[1:], s.state)
	channel := s.pubs[s.state%uint64(len(s.pubs))]
	s.note(seen{what: 's', channel: channel, payload: hashOf(payload)})
	s.port.publish(channel, payload)
}

// draw lets a random stream decide what the client does.
func (s *simulator) draw(stream string) {
	if s.draws {
		s.state = mix(s.state, s.port.rand(stream).Uint64())
	}
}

// save writes down all that decides what the program will do, and how much it has seen.
func (s *simulator) save() []byte {
	var b []byte
	for _, word := range s.words() {
		b = binary.LittleEndian.AppendUint64(b, word)
	}
	return b
}

func (s *simulator) words() []uint64 {
	periodic := uint64(0)
	if s.stop != nil {
		periodic = 1
	}
	return []uint64{s.state, uint64(s.left), uint64(s.promised.Time), uint64(s.promised.Step), uint64(s.target), periodic, uint64(len(s.transcript))}
}

// restore has the program be what save has written down. old is what that process has seen, of which it had seen the beginning.
func (s *simulator) restore(b []byte, old []seen) error {
	words := s.words()
	if len(b) != 8*len(words) {
		return fmt.Errorf("a checkpoint has %d bytes", len(b))
	}
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	n := words[6]
	if n > uint64(len(old)) {
		return fmt.Errorf("a checkpoint was made after %d things, and %d have happened", n, len(old))
	}
	s.state, s.left, s.target = words[0], int(words[1]), metasim.Time(words[4])
	s.promised = metasim.Instant{Time: metasim.Time(words[2]), Step: uint32(words[3])}
	s.transcript = old[:n:n]
	if words[5] == 0 {
		s.stop = nil
	}
	return nil
}

func hashOf(b []byte) uint64 {
	h := uint64(len(b))
	for ; len(b) >= 8; b = b[8:] {
		h = mix(h, binary.LittleEndian.Uint64(b))
	}
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}
