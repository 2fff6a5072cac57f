package monitor_test

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/analysis/report"
	"metasim/analysis/trace"
	"metasim/client"
	"metasim/delay"
	"metasim/metasim"
	"metasim/monitor"
	"metasim/record/journal"
	"metasim/server"
	"metasim/wire/transport/mem"
)

// A factory is a run in virtual time: each client computes for a known time at each step and at each message.
type factory struct {
	*server.Server
	monitor *monitor.Monitor
	core    metasim.Config
	journal bytes.Buffer
	done    chan struct{} // closed when the run is over
}

// A machine is a client of a factory.
type machine struct {
	name, in, out    string
	period, computes time.Duration
}

// openFactory starts a factory, with a rate if that is not 0.
func openFactory(t *testing.T, until metasim.Time, rate float64, machines ...machine) *factory {
	f := &factory{done: make(chan struct{}), core: metasim.Config{Until: until}}
	for _, m := range machines {
		f.core.Clients = append(f.core.Clients, m.name)
	}
	f.core.Delays = f.delays(t)
	writer := journal.NewWriter(&f.journal)
	srv, err := server.New(server.Config{
		Core: f.core, Scenario: "factory", Seed: 1, Driven: rate > 0, Observers: []server.Observer{writer},
	})
	require.NoError(t, err)
	f.Server = srv
	f.monitor = monitor.NewMonitor(srv, func(string) monitor.Process { return monitor.Process{Inside: true} })
	network, work := mem.NewNet(), sync.WaitGroup{}
	ended := func(what string, err error) {
		if t.Context().Err() == nil && err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	work.Go(func() { _ = srv.Accept(network) }) // until the run is over
	for _, m := range machines {
		work.Go(func() { ended(m.name, m.run(t.Context(), network)) })
	}
	if rate > 0 {
		work.Go(func() { ended("the pace", server.Pace(t.Context(), srv, rate)) })
	}
	go func() {
		defer close(f.done)
		ended("the run", srv.Serve(t.Context()))
		work.Wait()
		ended("the journal", writer.Close())
		f.monitor.Close()
	}()
	return f
}

func (f *factory) delays(t *testing.T) metasim.Delays {
	table, err := delay.NewTable(1, []delay.Rule{{Spec: delay.Spec{Delay: delay.Constant(2 * metasim.Millisecond)}}})
	require.NoError(t, err)
	return table
}

func (m machine) run(ctx context.Context, network *mem.Net) error {
	b := client.NewBuilder(m.name)
	out := b.Publication(m.out)
	if m.in != "" {
		if err := b.Subscribe(m.in, func(client.Message) error {
			pass(m.computes)
			return out.Publish([]byte(m.name))
		}); err != nil {
			return err
		}
	}
	conn, err := network.Dial(ctx)
	if err != nil {
		return err
	}
	c, err := b.Complete(ctx, client.WithConn(conn))
	if err != nil {
		return err
	}
	if m.period > 0 {
		c.Every(m.period, func() error {
			pass(m.computes)
			return out.Publish([]byte(m.name))
		})
	}
	return c.Run(ctx)
}

// pass lets virtual time pass.
func pass(d time.Duration) { <-time.After(d) }

// report returns the report of the recorded run.
func (f *factory) report(t *testing.T) *report.Report {
	core := f.core
	core.Delays = f.delays(t)
	tl, err := trace.Read(trace.Source{Config: core, Journal: struct{ trace.Journal }{journal.NewReader(&f.journal, core.Clients)}})
	require.NoError(t, err)
	return report.New(tl)
}

// Who looks at a run for the first time just before its end sees what the report will say: who held the others up, and for how long; how
// fast the run was; and how long each client was blocked.
func TestTheFirstLookIsTheReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := openFactory(t, 2*metasim.Second, 0,
			machine{name: "arm", in: "PLAN", out: "POSE", period: 20 * time.Millisecond, computes: time.Millisecond},
			machine{name: "camera", out: "IMAGE", period: 10 * time.Millisecond, computes: 7 * time.Millisecond},
			machine{name: "logger", in: "POSE", out: "LOG", computes: time.Microsecond},
			machine{name: "planner", in: "IMAGE", out: "PLAN", computes: 5 * time.Millisecond},
		)
		for f.Time() < metasim.Time(1.95*float64(metasim.Second)) {
			pass(time.Millisecond) // of virtual time: so the look is just before the end
		}
		first := f.monitor.View()
		require.Equal(t, "running", first.State)
		<-f.done
		r := f.report(t)
		within := func(want, got float64, what string) {
			t.Helper()
			require.InDelta(t, want, got, 0.05*want+0.005, what)
		}
		byName := map[string]monitor.Client{}
		for _, c := range first.Clients {
			byName[c.Name] = c
		}
		most := ""
		for _, c := range r.Clients {
			within(c.HeldS, byName[c.Name].HeldS, "held by "+c.Name)
			within(c.BlockedS, byName[c.Name].BlockedS, "blocked "+c.Name)
			within(c.HeldS/r.WallS, byName[c.Name].Blame, "clients that wait for "+c.Name)
			if most == "" || c.HeldS > byName[most].HeldS {
				most = c.Name
			}
		}
		require.Equal(t, most, first.Slowest)
		within(2/r.WallS, first.Factor, "the real-time factor")
		within(float64(first.Grants)/first.WallS, first.GrantsS, "grants a second")
		require.Greater(t, first.MessagesS, 0.0, "no first sample is zero")
	})
}

// Who held up the others most in the last seconds may wait itself just now. Then the chain says so, as it ends with another client.
func TestTheSlowestWaitsItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := openFactory(t, 2*metasim.Second, 0,
			machine{name: "arm", in: "PLAN", out: "POSE", period: 600 * time.Millisecond, computes: 9 * time.Millisecond},
			machine{name: "planner", in: "POSE", out: "PLAN", computes: 3 * time.Millisecond},
		)
		itself, others := 0, 0
		for {
			pass(251 * time.Millisecond)
			v := f.monitor.View()
			if v.State == "over" {
				break
			}
			if v.Slowest == "" || len(v.Chain) < 2 {
				continue
			}
			last := v.Chain[len(v.Chain)-1]
			if strings.HasPrefix(last, v.Slowest+" ") {
				require.NotContains(t, v.Chain[0], "itself")
				others++
			} else {
				require.Contains(t, v.Chain[0], "just now it waits itself: "+v.Slowest+" at ")
				itself++
			}
		}
		require.Positive(t, itself)
		require.Positive(t, others)
		<-f.done
	})
}

// Who looks at a run for the first time sees who held up the others in each two seconds of the last minutes, though nobody looked.
func TestThePastOfWhatNobodyLookedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := openFactory(t, 20*metasim.Second, 0,
			machine{name: "camera", out: "IMAGE", period: 10 * time.Millisecond, computes: 17 * time.Millisecond},
			machine{name: "planner", in: "IMAGE", out: "PLAN", computes: 5 * time.Millisecond},
		)
		ctx, stop := context.WithCancel(t.Context())
		remembered := make(chan struct{})
		go func() {
			defer close(remembered)
			f.monitor.Remember(ctx)
		}()
		pass(30 * time.Second)
		parts := f.monitor.View().History
		require.Len(t, parts, 15)
		for i, p := range parts {
			require.InDelta(t, 2, p.ToS-p.FromS, 1e-3, "part %d", i)
			require.Equal(t, "camera", p.Holders[0].Name)
			if i > 0 {
				require.Equal(t, parts[i-1].ToS, p.FromS)
			}
		}
		require.NotNil(t, f.monitor.View().EtaS)
		stop()
		<-remembered
		<-f.done
	})
}

// In a run with a rate the real-time factor is the rate: also after a pause, steps, and when it goes on.
func TestTheFactorOfAPacedRun(t *testing.T) {
	for _, rate := range []float64{0.5, 1, 4} {
		synctest.Test(t, func(t *testing.T) {
			f := openFactory(t, 60*metasim.Second, rate,
				machine{name: "clock", out: "TICK", period: 700 * time.Millisecond, computes: time.Millisecond},
				machine{name: "ear", in: "TICK", out: "TOCK", computes: time.Millisecond},
			)
			look := func(after time.Duration, what string) {
				t.Helper()
				pass(after)
				v := f.monitor.View()
				require.InDelta(t, rate, v.Factor, 0.05*rate, "%s, at %s", what, v.Now.Text)
			}
			look(2*time.Second, "the first look")
			for range 20 {
				look(250*time.Millisecond, "as it goes on")
			}
			require.NoError(t, f.Pause())
			for range 20 {
				look(time.Second, "paused")
			}
			for range 5 {
				require.NoError(t, f.Step())
				look(300*time.Millisecond, "a step")
				look(3*time.Second, "after a step")
			}
			require.NoError(t, f.Resume())
			for range 20 {
				look(300*time.Millisecond, "resumed")
			}
			<-f.done
		})
	}
}
