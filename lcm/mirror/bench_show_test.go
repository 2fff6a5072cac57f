package mirror

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/lcm/bus"
	"metasim/metasim"
)

// observed is 1000 messages of 100 bytes, received and delivered.
func observed() (messages []message) {
	for i := range 1000 {
		s := message{kind: received, Message: metasim.Message{From: 1, Seq: uint64(i), Channel: "STATE", Payload: make([]byte, 100)}}
		d := s
		d.kind = delivered
		messages = append(messages, s, d)
	}
	return messages
}

// BenchmarkSend measures what one message and its companion cost the mirror's goroutine.
func BenchmarkSend(b *testing.B) {
	for name, open := range map[string]func() (bus.Bus, error){
		"nowhere": func() (bus.Bus, error) { return bus.Missing("", assert.AnError, bus.Options{}), nil },
		"udpm":    func() (bus.Bus, error) { return bus.Open("udpm://239.255.76.70:7670", bus.Options{}) },
		"tcpq":    func() (bus.Bus, error) { return bus.Open("tcpq://127.0.0.1:7670", bus.Options{Serve: true}) },
		"file":    func() (bus.Bus, error) { return bus.Open("file://"+b.TempDir()+"/x.lcmlog", bus.Options{}) },
	} {
		b.Run(name, func(b *testing.B) {
			network, err := open()
			require.NoError(b, err)
			s := newSender(&Config{Bus: network, Clients: []string{"sink", "source"}})
			all := observed()
			b.ReportAllocs()
			for n := 0; n < b.N; n += len(all) {
				s.send(all)
			}
			b.StopTimer()
			require.NoError(b, network.Close())
		})
	}
}

// BenchmarkObserve measures what one message costs the server's goroutine.
func BenchmarkObserve(b *testing.B) {
	m := New(Config{Bus: bus.Missing("", assert.AnError, bus.Options{}), Clients: []string{"sink", "source"}})
	send := &metasim.Send{Client: 1, Channel: "STATE", Payload: make([]byte, 100)}
	for b.Loop() {
		if err := m.Observe(0, send, nil); err != nil {
			b.Fatal(err)
		}
	}
	_, err := m.Close()
	require.NoError(b, err)
}
