package bus

import (
	"fmt"

	"metasim/lcm/names"
)

// Open takes part in a network as any LCM program does. A wrong URL is a *[names.URLError]; any other error says why the bus
// cannot be had.
func Open(rawURL string, o Options) (Bus, error) { return open(rawURL, o, false) }

// Serve takes part as Open does, and is the server where the network needs one: of tcpq.
func Serve(rawURL string, o Options) (Bus, error) { return open(rawURL, o, true) }

func open(rawURL string, o Options, serve bool) (Bus, error) {
	a, err := names.Parse(rawURL)
	if err != nil {
		return nil, err
	}
	o = o.withDefaults()
	var b Bus
	switch {
	case a.Scheme == "udpm":
		b, err = openUDPM(a, o)
	case a.Scheme == "file":
		b, err = openFile(a, o)
	case serve:
		b, err = serveTCPQ(a, o)
	default:
		b, err = dialTCPQ(a, o)
	}
	if err != nil {
		return nil, fmt.Errorf("lcm bus: %s: %w", rawURL, err)
	}
	return b, nil
}

// Missing is the bus that could not be had: it says why in the log, and counts what it is given as failed.
func Missing(rawURL string, why error, o Options) Bus {
	m := &missing{why: why}
	m.log, m.url = o.withDefaults().Log, rawURL
	m.fails(0, why)
	return m
}

type missing struct {
	counters
	why error
}

func (m *missing) Publish(ms ...Message) error {
	m.fails(uint64(len(ms)), m.why)
	return nil
}

func (m *missing) Subscribe(...string) (*Subscription, error) { return nil, m.why }
func (m *missing) Close() error                               { return nil }
