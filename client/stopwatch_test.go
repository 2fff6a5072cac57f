package client_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/transport/mem"
)

const busy = 20 * time.Millisecond

// spin computes for so long, by the clock: that of the synctest bubble, which nothing else moves.
func spin(d time.Duration) { <-time.After(d) }

// computes lets a client compute, then step to t.
func computes(t *testing.T, c *client.Client, to metasim.Time) (stepped chan error) {
	stepped = make(chan error, 1)
	go func() {
		spin(busy)
		_, err := c.Step(t.Context(), to)
		stepped <- err
	}()
	return stepped
}

// A client that is asked says how long it computed: all of that, and nothing of what it waited.
func TestComputedIsWhatTheClientComputed(t *testing.T) {
	synctest.Test(t, computedIsWhatTheClientComputed)
}

func computedIsWhatTheClientComputed(t *testing.T) {
	c, h := joinTimed(t, client.NewBuilder("a"))
	stepped := computes(t, c, metasim.Millisecond)
	require.GreaterOrEqual(t, hears[*metasim.PollWait](h).Computed, int64(busy))
	spin(10 * busy) // the client waits meanwhile
	granted := time.Now()
	h.grant(ms(2))
	require.NoError(t, <-stepped)
	stepped = computes(t, c, 5*metasim.Millisecond)
	poll := hears[*metasim.PollWait](h)
	require.GreaterOrEqual(t, poll.Computed, int64(busy))
	require.LessOrEqual(t, poll.Computed, int64(time.Since(granted)), "it counts what it waited")
	require.Zero(t, poll.CPU, "the process has more to do than this client")
	h.grant(ms(6))
	require.NoError(t, <-stepped)
	h.quits(c)
}

// Where one report takes the place of others their times add up.
func TestComputedAddsUp(t *testing.T) { synctest.Test(t, computedAddsUp) }

func computedAddsUp(t *testing.T) {
	const steps, each = 300, 20 * time.Microsecond
	began := time.Now()
	c, h := joinTimed(t, client.NewBuilder("a"))
	h.grant(ms(2 * steps))
	for i := range metasim.Time(steps) {
		spin(each)
		_, err := c.Step(t.Context(), (1+i)*metasim.Millisecond)
		require.NoError(t, err)
	}
	require.NoError(t, c.Leave(t.Context()))
	var total int64
	reports := 0
	for body := range h.heard {
		if _, last := body.(*metasim.Leave); last {
			break
		}
		switch body := body.(type) {
		case *metasim.Advance:
			total += body.Computed
			reports++
		case *metasim.PollWait: // the first, where the grant has not come yet
			total += body.Computed
			reports++
		}
	}
	require.Less(t, reports, steps, "each went out alone, which shows nothing")
	require.GreaterOrEqual(t, total, int64(steps*each))
	require.LessOrEqual(t, total, int64(time.Since(began)))
}

// Inside the server's process whoever brings something does the dispatcher's work: that is not what the client computed,
// whether it then goes on at once or has been authorized before it was to wait.
func TestComputedIsNotTheDispatchersWork(t *testing.T) {
	mine, theirs := mem.Pipe("client", "server")
	work := func(d time.Duration) { // by the clock of the machine: a bubble's does not move while somebody waits for a lock
		for began := time.Now(); time.Since(began) < d; {
		}
	}
	var told []int64
	var spent time.Duration // by the client, as it sees it
	theirs.(wire.Direct).Receive(func(packets []wire.Packet, _ error) {
		for _, p := range packets {
			switch body := p.Body.(type) {
			case wire.Hello:
				require.NoError(t, theirs.Write([]wire.Packet{{Body: wire.Welcome{Timed: true}}, {Body: wire.Start{Until: metasim.At(metasim.Second)}}}))
			case *metasim.PollWait:
				told = append(told, body.Computed)
				require.NoError(t, theirs.Write([]wire.Packet{{Body: &metasim.Authorize{Until: body.Want.Add(4 * metasim.Millisecond)}}}))
			case *metasim.Advance:
				told = append(told, body.Computed)
			case *metasim.Leave:
				require.NoError(t, theirs.Write([]wire.Packet{{Body: wire.Goodbye{}}}))
			}
			work(5 * busy)
		}
	})
	host, err := client.Connect(t.Context(), client.WithConn(mine))
	require.NoError(t, err)
	scheduler := client.NewScheduler()
	scheduler.Served()
	scheduler.Go(func(scheduled client.Option) {
		c, err := client.NewBuilder("a").Complete(t.Context(), client.WithHost(host), scheduled)
		require.NoError(t, err)
		goesOn := time.Now()
		step := func(to metasim.Time) {
			spent += time.Since(goesOn)
			_, err := c.Step(t.Context(), to*metasim.Millisecond)
			require.NoError(t, err)
			goesOn = time.Now()
		}
		for to := range metasim.Time(4) { // the first waits; another writes
			step(to)
		}
		work(busy)
		step(5)
		require.NoError(t, c.Leave(t.Context()))
	})
	scheduler.Wait()
	require.NoError(t, host.Close())
	require.Greater(t, len(told), 2, "it waits, goes on, and waits")
	var total int64
	for _, computed := range told {
		total += computed
	}
	require.Less(t, total, int64(spent+5*busy), "all that the dispatcher did once is more than that: %v", told)
	require.GreaterOrEqual(t, told[len(told)-1], int64(busy))
}

// A client that is not asked says nothing.
func TestComputedIsNotSaidUnasked(t *testing.T) { synctest.Test(t, computedIsNotSaidUnasked) }

func computedIsNotSaidUnasked(t *testing.T) {
	c, h := join(t, client.NewBuilder("a"))
	for to := range metasim.Time(3) {
		stepped := computes(t, c, 1+to)
		require.Zero(t, hears[*metasim.PollWait](h).Computed)
		h.grant(metasim.At(2 + to))
		require.NoError(t, <-stepped)
	}
	h.quits(c)
}
