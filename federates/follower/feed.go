package follower

import (
	"encoding/binary"
	"fmt"

	"metasim/client"
	"metasim/metasim"
)

// A feed has the states of a world that have reached a node, in the order of time. Each counts from its time until a step later.
type feed struct {
	world  string
	states []worldState
}

type worldState struct {
	at, until metasim.Time
	data      []byte
}

// take takes a state: its time and its step, and then the state.
func (f *feed) take(m client.Message) error {
	const header = 16
	if len(m.Payload) < header {
		return fmt.Errorf("client %q published %d bytes on %s, which is no state; let only the world publish there", m.From, len(m.Payload), m.Channel)
	}
	at, step := metasim.Time(binary.LittleEndian.Uint64(m.Payload)), metasim.Time(binary.LittleEndian.Uint64(m.Payload[8:]))
	f.states = append(f.states, worldState{at, at.Add(step), m.Payload[header:]})
	return nil
}

// find returns the state at a time, if it has come, and forgets those before.
func (f *feed) find(t metasim.Time) ([]byte, bool) {
	for len(f.states) > 0 && f.states[0].until <= t {
		f.states = f.states[1:]
	}
	if len(f.states) == 0 {
		return nil, false
	}
	return f.states[0].data, true
}
