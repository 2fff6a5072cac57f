package mirror

import (
	"log/slog"

	"metasim/lcm/bus"
	"metasim/lcm/names"
	"metasim/metasim"
)

// atOnce is how many messages, with their companions, are given to the network at once.
const atOnce = 128

// A sender makes messages of the network out of what was seen.
type sender struct {
	bus     bus.Bus
	clients []string
	naming  names.Naming
	log     *slog.Logger
	names   map[route]string // the names met so far; empty for one that LCM has no form for

	batch   []bus.Message
	events  []byte // the companions' payloads
	shown   uint64
	refused uint64
}

// A route is what a name on the network is made of.
type route struct {
	kind     int8
	from, to metasim.ClientID
	channel  string
}

// maxNames bounds what is remembered: beyond it names are made anew.
const maxNames = 1 << 18

func newSender(c *Config) sender {
	return sender{bus: c.Bus, clients: c.Clients, naming: c.Naming, log: c.Log, names: map[route]string{}}
}

// send shows messages.
func (s *sender) send(all []sight) {
	for len(all) > 0 {
		n := min(len(all), atOnce)
		s.part(all[:n])
		all = all[n:]
	}
}

func (s *sender) part(sights []sight) {
	s.batch, s.events = s.batch[:0], s.events[:0]
	for i := range sights {
		v := &sights[i]
		if name := s.name(v); name != "" {
			s.batch = append(s.batch, bus.Message{Channel: name, Payload: v.payload, At: v.due.Time})
		} else {
			s.refused++
		}
		recipient := ""
		if v.kind == delivered {
			recipient = s.clients[v.to]
		}
		start := len(s.events)
		s.events = appendEvent(s.events, v, s.clients[v.from], recipient)
		s.batch = append(s.batch, bus.Message{
			Channel: EventChannel, Payload: s.events[start:len(s.events):len(s.events)], At: v.due.Time, Unordered: true,
		})
	}
	if err := s.bus.Publish(s.batch...); err != nil { // of a payload beyond what LCM allows, which no frame can hold
		s.log.Warn("a message cannot be shown", "why", err)
	}
	s.shown += uint64(len(sights))
	clear(s.batch)
}

// name is where a message is shown; empty where it cannot be.
func (s *sender) name(v *sight) string {
	r := route{v.kind, v.from, v.to, v.channel}
	name, met := s.names[r]
	if met {
		return name
	}
	recipient := ""
	if name = s.naming.Received(v.channel, s.clients[v.from]); v.kind == delivered {
		recipient = s.clients[v.to]
		name = s.naming.Delivered(v.channel, s.clients[v.from], recipient)
	}
	if err := s.naming.Check(v.channel, s.clients[v.from], recipient); err != nil {
		s.log.Warn("a channel is not shown on the public LCM bus", "why", err)
		name = ""
	}
	if len(s.names) >= maxNames {
		clear(s.names)
	}
	s.names[r] = name
	return name
}
