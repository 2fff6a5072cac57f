package typed_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/client/typed"
	"metasim/metasim"
)

const second = 1000 * time.Millisecond

type (
	caller  = typed.Caller[int, string]
	request = typed.Request[int, string]
)

// asks declares a caller of service PLAN.
func asks(c **caller) func(*client.Builder) error {
	return func(b *client.Builder) (err error) {
		*c, err = typed.NewCaller(b, "PLAN", typed.JSON[int](), typed.JSON[string]())
		return err
	}
}

// planner answers service PLAN: 0 is refused, 1 never answered, 2 answered at once, each greater number that many milliseconds later.
func planner(live func(context.Context, *client.Client) error) simulator {
	var c *client.Client
	return simulator{"planner", func(b *client.Builder) error {
		return typed.Answer(b, "PLAN", typed.JSON[int](), typed.JSON[string](), func(r *request) error {
			reply := func() error { return r.Reply(fmt.Sprint(r.From, " asked ", r.Value, " at ", r.Sent)) }
			switch {
			case r.Value == 0:
				return r.Refuse("no way")
			case r.Value == 1:
				return nil
			case r.Value == 2:
				return reply()
			}
			c.After(time.Duration(r.Value)*time.Millisecond, reply)
			return nil
		})
	}, func(ctx context.Context, joined *client.Client) error {
		c = joined
		return live(ctx, c)
	}}
}

// A call ends at the instant at which its answer arrives, over links with delays, and a time limit is simulated time.
func TestCall(t *testing.T) {
	var plan *caller
	var c *client.Client
	live := func(ctx context.Context, joined *client.Client) error {
		c = joined
		for _, want := range []struct {
			ask    int
			limit  time.Duration
			answer string
			err    string
			at     metasim.Instant
		}{
			{2, second, "robot asked 2 at 0s", "", ms(4)},
			{0, second, "", `service "PLAN": client "planner" refused: no way`, ms(8)},
			{1, 3 * time.Millisecond, "", `service "PLAN" has not answered the request of 8ms until 11ms; see that a client answers it, or allow more simulated time`, ms(11)},
			{2, 4 * time.Millisecond, "robot asked 2 at 11ms", "", ms(15)}, // at the limit counts
			{2, 4*time.Millisecond - 1, "", `service "PLAN" has not answered the request of 15ms until 18.999999ms`, metasim.At(19*metasim.Millisecond - 1)},
		} {
			answer, err := plan.Call(ctx, want.ask, want.limit)
			require.Equal(t, want.answer, answer)
			require.Equal(t, want.at, c.Now())
			if want.err != "" {
				require.ErrorContains(t, err, want.err)
			} else {
				require.NoError(t, err)
			}
		}
		_, err := plan.Call(ctx, 2, typed.NoLimit) // its answer would come after the end
		require.ErrorIs(t, err, client.ErrEnd)
		_, err = plan.Call(ctx, 2, 0)
		require.EqualError(t, err, `a request to service "PLAN" with the time limit 0s; use a positive duration, or NoLimit`)
		return c.Leave(ctx)
	}
	var digests [3]metasim.Digest
	for i, scheme := range []string{"mem", "unix", "tcp"} {
		var errs map[string]error
		digests[i], errs = drive(t, scheme, simulator{"robot", asks(&plan), live}, planner(run))
		require.NoError(t, errors.Join(errs["robot"], errs["planner"]))
	}
	require.Equal(t, digests[0], digests[1])
	require.Equal(t, digests[0], digests[2])
}

// Several requests are on their way at once, of two clients to one service, and the answers come in another order.
func TestSeveralInFlight(t *testing.T) {
	var seen [2][]string
	asker := func(i int) simulator {
		var plan *caller
		return simulator{fmt.Sprint("robot-", i), asks(&plan), func(ctx context.Context, c *client.Client) error {
			var open []*typed.Pending[string]
			for _, ask := range []int{5 + i, 3, 1, 2} {
				p, err := plan.Start(ask, 12*time.Millisecond)
				require.NoError(t, err)
				open = append(open, p)
			}
			return step(func(now metasim.Time) error {
				for n, p := range open {
					if p == nil {
						continue
					}
					if answer, done, err := p.Result(); done {
						seen[i] = append(seen[i], fmt.Sprint(now, " ", p.At(), " ", answer, errors.As(err, new(*typed.LimitError))))
						open[n] = nil
					}
				}
				return nil
			})(ctx, c)
		}}
	}
	fine(t, asker(0), asker(1), planner(run))
	for i, first := range []string{"9ms 9ms robot-0 asked 5 at 0sfalse", "10ms 10ms robot-1 asked 6 at 0sfalse"} {
		name := fmt.Sprint("robot-", i)
		require.Equal(t, []string{"4ms 4ms " + name + " asked 2 at 0sfalse", "7ms 7ms " + name + " asked 3 at 0sfalse", first, "12ms 12ms true"}, seen[i])
	}
}

// Under Run a request ends in a call, at the instant of its answer or at its limit, and one that waits is refused with its own sentence.
func TestGo(t *testing.T) {
	var plan *caller
	var lines []string
	fine(t, simulator{"robot", asks(&plan), func(ctx context.Context, c *client.Client) error {
		require.ErrorContains(t, plan.Go(2, second, nil), `service "PLAN": Go is called by handlers and timers of Run; before Run set a timer for it`)
		then := func(answer string, err error) error {
			lines = append(lines, fmt.Sprint(c.Now(), " ", answer, err))
			return nil
		}
		c.After(0, func() error {
			return errors.Join(plan.Go(2, typed.NoLimit, then), plan.Go(1, typed.NoLimit, then), plan.Go(3, second, then), plan.Go(0, second, then),
				plan.Go(1, 5*time.Millisecond, then), plan.Go(3, 6*time.Millisecond, then))
		})
		return c.Run(ctx)
	}}, planner(run))
	require.Equal(t, []string{
		"4ms robot asked 2 at 0s<nil>",
		`4ms service "PLAN": client "planner" refused: no way`,
		`5ms service "PLAN" has not answered the request of 0s until 5ms; see that a client answers it, or allow more simulated time`,
		`6ms service "PLAN" has not answered the request of 0s until 6ms; see that a client answers it, or allow more simulated time`,
		"7ms robot asked 3 at 0s<nil>",
	}, lines)

	_, errs := drive(t, "mem", simulator{"robot", asks(&plan), func(ctx context.Context, c *client.Client) error {
		c.After(0, func() error {
			_, err := plan.Call(ctx, 2, second)
			return err
		})
		return c.Run(ctx)
	}}, planner(run))
	require.ErrorContains(t, errs["robot"], `at 0s: service "PLAN": a handler of Run cannot wait for an answer; use Go`)
}

// What arrives while a call waits is not lost: inputs have it, Step returns it, Next does so without advancing, and Run calls its handler.
func TestNothingIsLostDuringACall(t *testing.T) {
	for _, how := range []string{"step", "next", "run"} {
		var plan *caller
		var latest *typed.Latest[int]
		var handled []string
		var echo *client.Publication
		handle := func(m client.Message) error {
			handled = append(handled, fmt.Sprint(m.Due, " ", string(m.Payload)))
			return echo.Publish(m.Payload)
		}
		fine(t, says("1", "2", "3", "4"), planner(run), simulator{"robot", func(b *client.Builder) (err error) {
			echo = b.Publication("ECHO")
			if latest, err = typed.NewLatest(b, "ANGLE", typed.JSON[int]()); err == nil {
				err = errors.Join(b.Subscribe("ANGLE", handle), asks(&plan)(b))
			}
			return err
		}, func(ctx context.Context, c *client.Client) error {
			_, err := plan.Call(ctx, 2, second)
			require.NoError(t, err)
			m, _ := latest.Get()
			require.Equal(t, 3, m.Value, "of 4ms")
			switch how {
			case "step":
				msgs, err := c.Step(ctx, 5*metasim.Millisecond)
				require.NoError(t, err)
				for _, m := range msgs {
					require.NoError(t, handle(m))
				}
			case "next":
				msgs, err := c.Next(ctx, 9*metasim.Millisecond)
				require.NoError(t, err)
				require.Len(t, msgs, 3)
				require.Equal(t, ms(4), c.Now())
				more, err := c.Next(ctx, 9*metasim.Millisecond)
				require.NoError(t, err)
				for _, m := range append(msgs, more...) {
					require.NoError(t, handle(m))
				}
			case "run":
				return c.Run(ctx)
			}
			return c.Leave(ctx)
		}})
		require.Equal(t, []string{"2ms 1", "3ms 2", "4ms 3", "5ms 4"}, handled, how)
	}
}

// A client that steps answers at its steps.
func TestAnswerInSteps(t *testing.T) {
	var plan *caller
	fine(t, simulator{"robot", asks(&plan), func(ctx context.Context, c *client.Client) error {
		answer, err := plan.Call(ctx, 2, second)
		require.Equal(t, "robot asked 2 at 0s", answer)
		require.Equal(t, ms(7), c.Now())
		return errors.Join(err, c.Leave(ctx))
	}}, planner(func(ctx context.Context, c *client.Client) error {
		for range c.Steps(ctx, 5*time.Millisecond) {
		}
		return c.Leave(ctx)
	}))
}

// Mistakes of declarations, of answers, and of strangers on the channels of a service.
func TestCallMistakes(t *testing.T) {
	b := client.NewBuilder("a")
	var plan *caller
	require.NoError(t, asks(&plan)(b))
	require.EqualError(t, asks(&plan)(b), `the client has a Caller of service "PLAN" already; use that one`)
	answer := func(name string) error {
		return typed.Answer(b, name, typed.JSON[int](), typed.JSON[string](), func(*request) error { return nil })
	}
	require.NoError(t, answer("PLAN"), "a client may ask itself")
	require.EqualError(t, answer("PLAN"), `the client answers service "PLAN" already; answer it once`)
	require.ErrorContains(t, answer("A.B"), `a service cannot be called "A.B"; use a name without the characters of regular expressions`)
	require.ErrorContains(t, answer(""), `a service cannot be called ""`)

	b = client.NewBuilder("a")
	require.NoError(t, asks(&plan)(b))
	_, err := plan.Start(1, second)
	require.ErrorContains(t, err, "call Complete first")
	require.ErrorContains(t, plan.Go(1, second, nil), "call Complete first")

	_, errs := drive(t, "mem", simulator{"robot", asks(&plan), func(ctx context.Context, c *client.Client) error {
		_, err := plan.Call(ctx, 2, second)
		return err
	}}, simulator{"planner", func(b *client.Builder) error {
		return typed.Answer(b, "PLAN", typed.JSON[int](), typed.JSON[string](), func(r *request) error { return errors.Join(r.Reply(""), r.Refuse("")) })
	}, run})
	require.ErrorContains(t, errs["planner"], `the request 0 of client "robot" to service "PLAN" was answered already; answer each once`)

	for channel, want := range map[string]string{
		"call:PLAN":  `the message of "stranger" on "call:PLAN" at 2ms (1 bytes) is no request to a service: it does not begin as one; channels that begin with call: or reply:`,
		"reply:PLAN": `the message of "stranger" on "reply:PLAN" at 2ms (1 bytes) is no answer of a service: it does not begin as one`,
	} {
		var out *client.Publication
		_, errs := drive(t, "mem", simulator{"both", func(b *client.Builder) error {
			return errors.Join(asks(&plan)(b), typed.Answer(b, "PLAN", typed.JSON[int](), typed.JSON[string](), func(*request) error { return nil }))
		}, run}, simulator{"stranger", func(b *client.Builder) error { out = b.Publication(channel); return nil },
			func(ctx context.Context, c *client.Client) error {
				return errors.Join(out.Publish([]byte("?")), c.Leave(ctx))
			}})
		require.ErrorContains(t, errs["both"], want)
	}
}
