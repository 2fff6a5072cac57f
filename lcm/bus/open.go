package bus

import (
	"fmt"
	"log/slog"

	"metasim/lcm/names"
)

// Open joins a network like any LCM program. A wrong URL is a *[names.URLError]; any other error says why the network is not
// available.
func Open(rawURL string, o Options) (Bus, error) {
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
	case o.Serve:
		b, err = serveTCPQ(a, o)
	default:
		b, err = dialTCPQ(a, o)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", rawURL, err)
	}
	return b, nil
}

const defaultQueue = 32 << 20

func (o Options) withDefaults() Options {
	if o.Queue <= 0 {
		o.Queue = defaultQueue
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Missing stands for a bus that Open could not open: it logs why, and counts each published message as failed.
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
