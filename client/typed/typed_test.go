package typed_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"metasim/client"
	"metasim/client/typed"
	"metasim/delay"
	"metasim/internal/shortdir"
	"metasim/metasim"
	"metasim/server"
	"metasim/wire"
	"metasim/wire/transport/mem"
	"metasim/wire/transport/stream"
)

type angle struct {
	Degrees float64 `json:"degrees"`
}

// decimal is a codec of one's own.
type decimal struct{}

func (decimal) Append(dst []byte, v int) ([]byte, error) {
	if v < 0 {
		return dst, errors.New("it is negative")
	}
	return strconv.AppendInt(dst, int64(v), 10), nil
}

func (decimal) Decode(payload []byte) (int, error) { return strconv.Atoi(string(payload)) }

// A simulator declares, joins, and then lives.
type simulator struct {
	name    string
	declare func(b *client.Builder) error
	live    func(ctx context.Context, c *client.Client) error
}

func (s simulator) run(ctx context.Context, option client.Option) error {
	b := client.NewBuilder(s.name)
	if err := s.declare(b); err != nil {
		return err
	}
	c, err := b.Complete(ctx, option)
	if err != nil {
		return err
	}
	if err = s.live(ctx, c); err != nil {
		_ = c.Fail(err) // the error itself is returned
	}
	return err
}

// drive runs simulators until 20 ms over links of 2 ms, and returns the digest and what each of them returned. Inside the process, or over
// a socket of this scheme.
func drive(t *testing.T, scheme string, simulators ...simulator) (metasim.Digest, map[string]error) {
	t.Helper()
	url, transport := "tcp://127.0.0.1:0", stream.TCP()
	switch scheme {
	case "mem":
		return carry(t.Context(), mem.NewNet(), simulators)
	case "unix":
		url, transport = "unix://"+filepath.Join(shortdir.Make(t), "s"), stream.Unix()
	}
	listener, err := transport.Listen(url)
	require.NoError(t, err)
	return carry(t.Context(), listener, simulators)
}

// carry carries simulators out, with a server that listens here.
func carry(ctx context.Context, listener wire.Listener, simulators []simulator) (metasim.Digest, map[string]error) {
	errs := map[string]error{}
	table, err := delay.NewTable(1, []delay.Rule{{Spec: delay.Spec{Delay: delay.Constant(2 * metasim.Millisecond)}}})
	config := server.Config{Core: metasim.Config{Until: 20 * metasim.Millisecond, Delays: table}}
	for _, s := range simulators {
		config.Core.Clients = append(config.Core.Clients, s.name)
		errs[s.name] = err
	}
	srv, err := server.New(config)
	if err != nil {
		panic(err) // the simulators have no names
	}
	var all sync.WaitGroup
	all.Go(func() { _ = srv.Accept(listener) }) // Serve says how the run ended
	var mu sync.Mutex
	for _, s := range simulators {
		all.Go(func() {
			option := client.WithServer(listener.URL())
			if net, ok := listener.(*mem.Net); ok {
				conn, err := net.Dial(ctx)
				if err != nil {
					panic(err) // nobody closes it
				}
				option = client.WithConn(conn)
			}
			err := s.run(ctx, option)
			mu.Lock()
			defer mu.Unlock()
			errs[s.name] = errors.Join(errs[s.name], err)
		})
	}
	_ = srv.Serve(ctx) // so do the simulators
	all.Wait()
	return srv.Result().Digest, errs
}

// fine drives simulators that all end well.
func fine(t *testing.T, simulators ...simulator) metasim.Digest {
	t.Helper()
	digest, errs := drive(t, "mem", simulators...)
	for _, err := range errs {
		require.NoError(t, err)
	}
	return digest
}

// run is a client that Run drives.
func run(ctx context.Context, c *client.Client) error { return c.Run(ctx) }

// step is a client that steps each millisecond, and calls each.
func step(each func(t metasim.Time) error) func(context.Context, *client.Client) error {
	return func(ctx context.Context, c *client.Client) error {
		for t := range c.Steps(ctx, time.Millisecond) {
			if err := each(t); err != nil {
				return err
			}
		}
		return c.Leave(ctx)
	}
}

func ms(n metasim.Time) metasim.Instant { return metasim.At(n * metasim.Millisecond) }

// Values travel as each codec writes them, and come back as they were.
func TestCodecs(t *testing.T) {
	var heard []any
	keep := func(v ...any) error { heard = append(heard, v...); return nil }
	var a *typed.Publication[angle]
	var p *typed.Publication[*wrapperspb.StringValue]
	var d *typed.Publication[int]
	var raw *typed.Publication[[]byte]
	fine(t, simulator{"plant", func(b *client.Builder) error {
		a = typed.Publish(b, "ANGLE", typed.JSON[angle]())
		p = typed.Publish(b, "NAME", typed.Proto(&wrapperspb.StringValue{}))
		d = typed.Publish(b, "COUNT", typed.Codec[int](decimal{}))
		raw = typed.Publish(b, "RAW", typed.Bytes())
		return nil
	}, func(ctx context.Context, c *client.Client) error {
		for i := range 2 {
			require.NoError(t, a.Publish(angle{float64(i) + 0.5}))
			require.NoError(t, p.Publish(wrapperspb.String(fmt.Sprint("n", i))))
			require.NoError(t, d.Publish(i))
			require.NoError(t, raw.Publish([]byte{byte(i)}))
		}
		require.EqualError(t, d.Publish(-1), `the int for "COUNT" cannot be sent: it is negative`)
		return c.Leave(ctx)
	}}, simulator{"display", func(b *client.Builder) error {
		return errors.Join(
			typed.Subscribe(b, "ANGLE", typed.JSON[angle](), func(m typed.Message[angle]) error {
				return keep(m.Value.Degrees, m.From, m.Due, string(m.Payload)) // what others see
			}),
			typed.Subscribe(b, "NAME", typed.Proto(&wrapperspb.StringValue{}), func(m typed.Message[*wrapperspb.StringValue]) error {
				return keep(m.Value.GetValue())
			}),
			typed.Subscribe(b, "COUNT", typed.Codec[int](decimal{}), func(m typed.Message[int]) error { return keep(m.Value) }),
			typed.Subscribe(b, "RAW", typed.Bytes(), func(m typed.Message[[]byte]) error { return keep(m.Value[0]) }))
	}, run})
	require.Equal(t, []any{0.5, "plant", ms(2), `{"degrees":0.5}`, "n0", 0, byte(0), 1.5, "plant", ms(2), `{"degrees":1.5}`, "n1", 1, byte(1)}, heard)
}

// says publishes texts on ANGLE, one each millisecond, and steps to the end.
func says(texts ...string) simulator {
	var out *client.Publication
	return simulator{"plant", func(b *client.Builder) error { out = b.Publication("ANGLE"); return nil },
		func(ctx context.Context, c *client.Client) error {
			return step(func(t metasim.Time) error {
				if i := int(t / metasim.Millisecond); i < len(texts) {
					return out.Publish([]byte(texts[i]))
				}
				return nil
			})(ctx, c)
		}}
}

// If a payload cannot be decoded, the error names the channel, the sender, the instant and the type. That holds in a handler, in a step and in a
// loop of steps.
func TestPayloadsThatDoNotDecode(t *testing.T) {
	handler := func(b *client.Builder) error {
		return typed.Subscribe(b, "ANGLE", typed.JSON[angle](), func(typed.Message[angle]) error { return nil })
	}
	input := func(b *client.Builder) error {
		_, err := typed.NewLatest(b, "ANGLE", typed.JSON[angle]())
		return err
	}
	for name, display := range map[string]simulator{
		"handler": {"display", handler, run},
		"input":   {"display", input, run},
		"steps":   {"display", input, step(func(metasim.Time) error { return nil })},
		"step": {"display", input, func(ctx context.Context, c *client.Client) error {
			_, err := c.Step(ctx, 9*metasim.Millisecond)
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := drive(t, "mem", says(`{}`, `"steep"`), display)
			require.ErrorContains(t, errs["display"], `the message of "plant" on "ANGLE" at 3ms (7 bytes) is no typed_test.angle: `+
				`json: cannot unmarshal string into Go value of type typed_test.angle`)
			var d *typed.DecodeError
			require.ErrorAs(t, errs["display"], &d)
			require.Equal(t, ms(3), d.Message.Due)
		})
	}
}

// In every kind of loop an input holds the messages that were due by then, and no others. Step returns such a message only if a subscription
// matches it too.
func TestInputs(t *testing.T) {
	var latest *typed.Latest[int]
	var queue *typed.Queue[int]
	var lines []string
	declare := func(b *client.Builder) (err error) {
		if latest, err = typed.NewLatest(b, "ANGLE", typed.JSON[int]()); err == nil {
			queue, err = typed.NewQueue(b, "ANGLE", typed.JSON[int](), 2, typed.DropOldest)
		}
		return err
	}
	look := func(c *client.Client, msgs []client.Message) {
		m, any := latest.Get()
		line := fmt.Sprint(c.Now(), " ", m.Value, any, " ", queue.Len(), " of ", queue.Len()+int(queue.Dropped()), ":")
		for m := range queue.All() {
			line += fmt.Sprint(" ", m.Value)
		}
		lines = append(lines, fmt.Sprint(line, " ", len(msgs)))
	}
	steps := func(ctx context.Context, c *client.Client) error {
		for _, msgs := range c.Steps(ctx, 5*time.Millisecond) {
			look(c, msgs)
		}
		return c.Leave(ctx)
	}
	fine(t, says("1", "2", "3", "4", "5"), simulator{"display", declare, steps})
	require.Equal(t, []string{"0s 0 false 0 of 0: 0", "5ms 4 true 2 of 4: 3 4 0", "10ms 5 true 1 of 3: 5 0", "15ms 5 true 0 of 2: 0"}, lines)

	lines = nil
	fine(t, says("1", "2", "3", "4", "5"), simulator{"display", func(b *client.Builder) error {
		return errors.Join(declare(b), b.Subscribe("ANGL.", nil))
	}, steps})
	require.Equal(t, "5ms 4 true 2 of 4: 3 4 4", lines[1])

	lines = nil
	fine(t, says("1", "2"), simulator{"display", declare, func(ctx context.Context, c *client.Client) error {
		for {
			msgs, err := c.Next(ctx, metasim.Forever)
			if errors.Is(err, client.ErrEnd) {
				return c.Leave(ctx)
			}
			look(c, msgs)
		}
	}})
	require.Equal(t, []string{"2ms 1 true 1 of 1: 1 0", "3ms 2 true 1 of 1: 2 0"}, lines)

	lines = nil
	fine(t, says("1", "2", "3"), simulator{"display", declare, func(ctx context.Context, c *client.Client) error {
		c.Every(3*time.Millisecond, func() error { look(c, nil); return nil })
		return c.Run(ctx)
	}})
	require.Equal(t, []string{"3ms 2 true 2 of 2: 1 2 0", "6ms 3 true 1 of 1: 3 0"}, lines[:2])
}

// A queue may refuse the message that is one too many.
func TestFullQueue(t *testing.T) {
	_, errs := drive(t, "mem", says("1", "2", "3"), simulator{"display", func(b *client.Builder) error {
		_, err := typed.NewQueue(b, "ANGLE", typed.JSON[int](), 2, typed.Fail)
		return err
	}, run})
	require.ErrorContains(t, errs["display"],
		`the queue of "ANGLE" has 2 messages, and at 4ms one more came from "plant"; take them sooner, make the queue larger, or use DropOldest`)
	require.ErrorAs(t, errs["display"], new(*typed.FullError))
	_, err := typed.NewQueue(client.NewBuilder("a"), "X", typed.Bytes(), 0, typed.Fail)
	require.EqualError(t, err, `the queue of "X" has room for 0 messages; use a positive number`)
}

// What an input holds is in a checkpoint, and comes back.
func TestInputsAreSaved(t *testing.T) {
	b := client.NewBuilder("a")
	message := func(text string) client.Message {
		return client.Message{From: "plant", Channel: "X", Seq: 7, Due: ms(3), Payload: []byte(text)}
	}
	var latest [2]*typed.Latest[int]
	var queue [2]*typed.Queue[int]
	for i := range 2 {
		var err error
		latest[i], err = typed.NewLatest(b, "X", typed.JSON[int]())
		require.NoError(t, err)
		queue[i], err = typed.NewQueue(b, "X", typed.JSON[int](), 2, typed.DropOldest)
		require.NoError(t, err)
	}
	again := func() {
		for _, in := range []struct{ from, to client.Input }{{latest[0], latest[1]}, {queue[0], queue[1]}} {
			state, err := in.from.Save()
			require.NoError(t, err)
			require.NoError(t, in.to.Restore(state))
		}
	}
	again()
	_, any := latest[1].Get()
	require.False(t, any)
	for _, text := range []string{"1", "2", "3"} {
		require.NoError(t, latest[0].Take(message(text)))
		require.NoError(t, queue[0].Take(message(text)))
	}
	again()
	m, _ := latest[1].Get()
	require.Equal(t, typed.Message[int]{Message: message("3"), Value: 3}, m)
	require.Equal(t, uint64(1), queue[1].Dropped())
	m, _ = queue[1].Next()
	require.Equal(t, typed.Message[int]{Message: message("2"), Value: 2}, m)
	require.Equal(t, 1, queue[1].Len())
	require.Error(t, queue[1].Restore([]byte("?")))
	require.Error(t, latest[1].Restore([]byte("?")))
}
