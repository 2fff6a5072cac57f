package clients_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/client/typed"
	"metasim/internal/testprogram"
	"metasim/metasim"
	"metasim/run"
)

// servants are the clients of python/tests/services.py and of python/tests/inside.py again, in Go.
var servants = map[string]testprogram.Program{"planner": planner, "asker": asker, "goer": goer, "insider": insider}

type plans = typed.Caller[[]byte, []byte]

// join joins as the client that the environment names, with a caller of the service PLAN.
func join(ctx context.Context, declare func(*client.Builder) error) (*client.Client, error) {
	b := client.NewBuilder(os.Getenv("METASIM_CLIENT"))
	if err := declare(b); err != nil {
		return nil, err
	}
	return b.Complete(ctx)
}

func asks(plan **plans) func(*client.Builder) error {
	return func(b *client.Builder) (err error) {
		*plan, err = typed.NewCaller(b, "PLAN", typed.Bytes(), typed.Bytes())
		return err
	}
}

// line says what came of a request.
func line(c *client.Client, answer []byte, err error) string {
	what := string(answer)
	if errors.As(err, new(*typed.LimitError)) {
		what = "limit"
	} else if err != nil {
		what = err.Error()
	}
	return fmt.Sprintf("%d us: %s", int64(c.Now().Time)/1000, what)
}

func planner([]string) error {
	ctx := context.Background()
	var c *client.Client
	c, err := join(ctx, func(b *client.Builder) error {
		return typed.Answer(b, "PLAN", typed.Bytes(), typed.Bytes(), func(r *typed.Request[[]byte, []byte]) error {
			n, err := strconv.Atoi(string(r.Value))
			text := fmt.Appendf(nil, "%s asked %d at %d", r.From, n, int64(r.Sent.Time)/1000)
			switch {
			case err != nil:
				return err
			case n == 0:
				return r.Refuse("no way")
			case n == 2:
				return r.Reply(text)
			case n > 2:
				c.After(time.Duration(n)*time.Millisecond, func() error { return r.Reply(text) })
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	return c.Run(ctx)
}

func asker([]string) error {
	ctx := context.Background()
	var plan *plans
	c, err := join(ctx, func(b *client.Builder) error { return errors.Join(asks(&plan)(b), b.Subscribe("ANGLE", nil)) })
	if err != nil {
		return err
	}
	var lines []string
	for _, ask := range []struct{ n, limit int }{{2, 1000}, {0, 1000}, {1, 3}, {2, 4}, {5, 4}, {3, 1000}} {
		answer, err := plan.Call(ctx, []byte(strconv.Itoa(ask.n)), time.Duration(ask.limit)*time.Millisecond)
		lines = append(lines, line(c, answer, err))
	}
	var several []*typed.Pending[[]byte]
	for _, n := range []string{"5", "3", "1", "2"} {
		p, err := plan.Start([]byte(n), 12*time.Millisecond)
		if err != nil {
			return err
		}
		several = append(several, p)
	}
	unread, err := c.Next(ctx, metasim.Forever)
	if err != nil {
		return err
	}
	angles := len(unread)
	for t := c.Now().Time + 1; len(several) > 0; t += metasim.Millisecond {
		messages, err := c.Step(ctx, t)
		if err != nil {
			return err
		}
		angles += len(messages)
		var open []*typed.Pending[[]byte]
		for _, p := range several {
			if answer, done, err := p.Result(); done {
				lines = append(lines, line(c, answer, err))
			} else {
				open = append(open, p)
			}
		}
		several = open
	}
	if err := c.SetResult(map[string]any{"lines": lines, "angles": angles}); err != nil {
		return err
	}
	return c.Leave(ctx)
}

func goer([]string) error {
	ctx := context.Background()
	var plan *plans
	c, err := join(ctx, asks(&plan))
	if err != nil {
		return err
	}
	lines := []string{}
	if plan.Go([]byte("2"), time.Second, nil) != nil {
		lines = append(lines, "refused")
	}
	c.After(0, func() error {
		for _, ask := range []struct{ n, limit int }{{2, 1000}, {1, 5}, {3, 1000}, {0, 1000}, {3, 6}} {
			if err := plan.Go([]byte(strconv.Itoa(ask.n)), time.Duration(ask.limit)*time.Millisecond, func(answer []byte, err error) error {
				lines = append(lines, line(c, answer, err))
				return nil
			}); err != nil {
				return err
			}
		}
		return nil
	})
	c.OnLeave(func() any { return map[string]any{"lines": lines} })
	return c.Run(ctx)
}

// What cannot be is refused in C with a sentence, and neither a message that is being read nor one that comes while a call waits is lost. What a service in
// C++ throws, the loop of steps throws.
func TestServicesSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	alone := func(program, role string) (*run.Outcome, string) {
		out, dir := carriedOut(t, "name: x\nuntil: 100ms\nclients:\n  - {name: a, run: ["+program+", "+role+"]}\nlinks: [{delay: 2ms}]\n", "unix")
		said, err := os.ReadFile(filepath.Join(dir, "clients", "a.stdout"))
		require.NoError(t, err)
		return out, string(said)
	}
	out, said := alone(compile(t, sanitized, "c/test/services.c", object(t, sanitized)), "alone")
	require.True(t, out.OK, out.Error)
	require.Equal(t, `
1 client "a": a service cannot be called "a.b"; use a name without the characters of regular expressions, \.+*?()|[]{}^$
1 client "a" asks service "S" already; declare it once
1 client "a" answers service "S" already; declare it once
2 client "a": services are fixed once the client has joined; declare "T" before metasim_join
1 client "a" asks service "T", which it did not declare; call metasim_caller before metasim_join
1 client "a": a request to service "S" with the time limit 0 ns; use a positive duration, or METASIM_FOREVER
1 client "a" waits for a request that it has not sent, or that is over; wait for each once
1 client "a" answers a request that was answered already, or is none; answer each once
1 client "a" cannot step in the handler of a service; return, and reply after a later step
0 
1 client "a" cannot step in the handler of a service; return, and reply after a later step
0 
1 client "a" answers a request that was answered already, or is none; answer each once
0 
first 1
1 ready, 0 
1 unread
13 service "S" has not answered the request of 0.006000000 s until 0.007000000 s; see that a client answers it, or allow more simulated time
13 service "S" has not answered the request of 0.007000000 s until 0.008000000 s; see that a client answers it, or allow more simulated time
1 client "a": the handler of service "S" returned 1
3 the message of "a" on "call:S" at 0.010000000 s (5 bytes) is no request to a service; channels that begin with call: or reply: are those of services
`, "\n"+said)
	out, said = alone(compile(t, sanitized, "cpp/test/services.cpp", object(t, sanitized)), "throws")
	require.False(t, out.OK)
	require.Contains(t, out.Error, "out of fuel")
	require.Equal(t, "the loop threw it\n", said)
}

// Clients in Go, C, C++ and Python ask one another, in loops and in handlers: which of them is in which language changes nothing of the run.
func TestServices(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	library, err := filepath.Abs("python")
	require.NoError(t, err)
	inC, inCpp := compile(t, sanitized, "c/test/services.c", object(t, sanitized)), compile(t, sanitized, "cpp/test/services.cpp", object(t, sanitized))
	clients := map[string]func(role string) string{
		"c":   func(role string) string { return "run: [" + inC + ", " + role + "]" },
		"c++": func(role string) string { return "run: [" + inCpp + ", " + role + "]" },
		"go":  func(role string) string { return "run: [" + self + "], env: [TEST_PROGRAM=" + role + "]" },
		"python": func(role string) string {
			return "run: [" + python(t) + ", -B, " + filepath.Join(library, "tests", "services.py") + ", " + role + "], env: [PYTHONPATH=" + library + "]"
		},
	}
	carried := func(asks, answers string) outcome {
		return carryOut(t, "name: x\nuntil: 100ms\nclients:\n  - {name: plan, "+clients[answers]("planner")+"}\n  - {name: ask, "+clients[asks]("asker")+"}\n  - {name: go, "+
			clients[asks]("goer")+"}\n  - {name: angle, model: source, with: {channel: ANGLE, period: 1ms}}\nlinks: [{delay: 2ms}]\n", "unix")
	}
	want := carried("go", "go")
	for _, languages := range [][2]string{{"python", "python"}, {"go", "python"}, {"python", "go"}, {"c", "c"}, {"c", "go"}, {"go", "c"}, {"c", "python"}, {"c++", "c"}, {"python", "c++"}} {
		require.Equal(t, want, carried(languages[0], languages[1]), "asked in %s, answered in %s", languages[0], languages[1])
	}
}
