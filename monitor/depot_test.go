package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"metasim/client"
	"metasim/delay"
	"metasim/metasim"
	"metasim/monitor"
	"metasim/server"
	"metasim/wire/transport/mem"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A depot is a run for these tests: a camera sees, a planner plans, and robots do as they are told. The camera stops in the
// middle of a frame until the test lets it go on.
type depot struct {
	*server.Server
	t       *testing.T
	net     *mem.Net
	monitor *monitor.Monitor
	ended   chan struct{}
	err     error
	token   string
}

const (
	frame   = 100 * metasim.Millisecond
	stopsAt = 12 * frame

	patience = time.Minute // for what takes a moment
	wink     = time.Millisecond
)

// open starts a depot with some robots. The camera waits at 1.2 s until go is closed.
func open(t *testing.T, robots int, cue <-chan struct{}) *depot {
	t.Helper()
	names := []string{"camera", "planner"}
	for i := range robots {
		names = append(names, fmt.Sprintf("robot-%d", i))
	}
	rules := []delay.Rule{{Spec: delay.Spec{Delay: delay.Constant(2 * metasim.Millisecond)}}}
	table, err := delay.NewTable(1, rules)
	require.NoError(t, err)
	srv, err := server.New(server.Config{
		Core: metasim.Config{Clients: names, Delays: table, Until: 3 * metasim.Second}, Scenario: "depot", Seed: 1,
	})
	require.NoError(t, err)
	d := &depot{Server: srv, t: t, net: mem.NewNet(), ended: make(chan struct{}), token: "sesame"}
	d.monitor = monitor.NewMonitor(srv, func(string) monitor.Process { return monitor.Process{Inside: true} })
	ctx, cancel := context.WithCancelCause(context.Background())
	var work sync.WaitGroup
	work.Go(func() { _ = srv.Accept(d.net) }) // until the run is over
	for _, name := range names {
		work.Go(func() { d.takePart(ctx, name, cue) })
	}
	go func() {
		defer close(d.ended)
		d.err = srv.Serve(ctx)
		work.Wait()
		d.monitor.Close()
	}()
	t.Cleanup(func() {
		cancel(errors.New("the test is over"))
		<-d.ended
	})
	return d
}

// takePart is a client's life. That it is told of a run which has failed is no failure of its own.
func (d *depot) takePart(ctx context.Context, name string, cue <-chan struct{}) {
	b := client.NewBuilder(name)
	var begin func(c *client.Client)
	switch name {
	case "camera":
		out := b.Publication("IMAGE")
		begin = func(c *client.Client) {
			c.Every(100*time.Millisecond, func() error {
				if c.Now() == metasim.At(stopsAt) {
					select {
					case <-cue:
					case <-ctx.Done():
					}
				}
				return out.Publish(make([]byte, 64))
			})
		}
	case "planner":
		out := b.Publication("GOAL")
		_ = b.Subscribe("IMAGE", func(m client.Message) error { return out.Publish(m.Payload) })
	default:
		out := b.Publication("POSE")
		_ = b.Subscribe("GOAL", func(client.Message) error { return nil })
		begin = func(c *client.Client) {
			c.Every(10*time.Millisecond, func() error { return out.Publish(make([]byte, 8)) })
		}
	}
	conn, err := d.net.Dial(ctx)
	if err != nil {
		return
	}
	c, err := b.Complete(ctx, client.WithConn(conn))
	if err != nil {
		return
	}
	if begin != nil {
		begin(c)
	}
	_ = c.Run(ctx)
}

// stuck waits until everybody waits for the camera.
func (d *depot) stuck() {
	d.t.Helper()
	require.Eventually(d.t, func() bool {
		shot := d.Snapshot()
		for _, c := range shot.Clients[1:] {
			if c.State != server.Waiting {
				return false
			}
		}
		return shot.Clients[0].Clock == metasim.At(stopsAt-frame) // it has not come to the next one yet
	}, patience, wink)
}

// show serves the depot on the loopback interface.
func (d *depot) show() *httptest.Server {
	s := httptest.NewServer(d.monitor.Handler(monitor.Loopback, d.token))
	d.t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}
