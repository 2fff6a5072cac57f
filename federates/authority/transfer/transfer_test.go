package transfer

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

const ms = metasim.Millisecond

var seeds = flag.Int("seeds", 500, "how many seeds TestOneOwner tries")

// Whatever is lost, doubled or late, at most one server owns an entity at each instant; in the end it is exactly one, which the homeserver has written down,
// and no step of the entity was left out or done twice.
func TestOneOwner(t *testing.T) {
	moved, late := 0, uint64(0)
	for seed := range *seeds {
		draw := rand.New(rand.NewPCG(uint64(seed), 7))
		n := newNetwork(t, draw)
		n.healed, n.stored = metasim.Second, seed%2 == 1
		sims := []string{"a", "b", "c"}
		n.entities = []string{"ball", "cube"}
		home := n.home(HomeConfig{Name: "home", Neighbours: sims, Patience: 200 * ms})
		for i, name := range sims {
			n.sim(SimConfig{Name: name, Home: "home", Retry: 50 * ms, Master: Mind(draw.IntN(3)) * Mind(i%2)})
		}
		for _, e := range n.entities {
			owner := sims[draw.IntN(3)]
			n.sims[owner].Own(e)
			home.Enter(e, Record{Owner: owner, Master: sims[draw.IntN(3)], Rule: []Rule{Allow, Allow, Ask, Deny}[draw.IntN(4)]})
		}
		n.watch = func() {
			for _, e := range n.entities {
				require.LessOrEqual(t, len(n.holders(e)), 1, "seed %d: %s at %v", seed, e, n.now)
			}
		}
		for range 12 { // requests, while messages fly
			n.now = metasim.At(n.now.Time + metasim.Time(draw.IntN(60))*ms)
			for f := n.flying.First(); f != nil && f.due <= n.now.Time; f = n.flying.First() {
				n.deliver(n.flying.Pop())
			}
			name, entity := sims[draw.IntN(3)], n.entities[draw.IntN(2)]
			out, err := n.sims[name].Take(n.now.Time, entity)
			if slices.Contains(n.sims[name].Held(), entity) {
				out, err = n.sims[name].Give(n.now.Time, entity, sims[draw.IntN(3)])
			}
			if err == nil {
				n.send(name, out, nil)
			}
		}
		n.run()
		for _, e := range n.entities {
			holders := n.holders(e)
			r, _ := n.homes["home"].Record(e)
			require.Equal(t, []string{r.Owner}, holders, "seed %d: %s", seed, e)
			require.Equal(t, without(n.now.Time+ms), n.sims[r.Owner].State(e, n.now.Time+ms), "seed %d: %s", seed, e)
			moved += int(r.Epoch)
		}
		for _, name := range sims {
			late += n.sims[name].Late
		}
	}
	require.Greater(t, moved, *seeds, "entities moved")
	require.Greater(t, late, uint64(*seeds)/10, "handovers came twice")
}

// chain makes the servers of a transfer between two homeservers that are so many hops apart.
func chain(t *testing.T, hops int, rule Rule, mind Mind) *network {
	n := newNetwork(t, nil)
	names := []string{"home-a"}
	for i := 1; i < hops; i++ {
		names = append(names, fmt.Sprint("hop-", i))
	}
	names = append(names, "home-b")
	for i, name := range names {
		cfg := HomeConfig{Name: name, Patience: metasim.Second}
		switch i {
		case 0:
			cfg.Neighbours, cfg.Path = []string{"sim-a"}, names[1:]
		case len(names) - 1:
			cfg.Neighbours = []string{"sim-b", "master"}
		}
		n.home(cfg)
	}
	n.sim(SimConfig{Name: "sim-a", Home: "home-a"}).Own("ball")
	n.sim(SimConfig{Name: "sim-b", Home: "home-b"})
	n.sim(SimConfig{Name: "master", Home: "home-b", Master: mind})
	n.homes["home-b"].Enter("ball", Record{Owner: "sim-a", Master: "master", Rule: rule})
	return n
}

// Between homeservers that are H hops apart a transfer takes 3 + 2H messages, each of which takes its time; the master's word two more.
func TestTransferBetweenHomes(t *testing.T) {
	for _, c := range []struct {
		hops int
		rule Rule
		mind Mind
		want int
		at   metasim.Time
		why  Reason
	}{
		{1, Allow, Silent, 5, 50 * ms, ""}, {2, Allow, Silent, 7, 70 * ms, ""}, {3, Allow, Silent, 9, 90 * ms, ""}, {5, Allow, Silent, 13, 130 * ms, ""},
		{2, Ask, Yes, 9, 90 * ms, ""}, {2, Deny, Silent, 6, 60 * ms, Denied}, {2, Ask, No, 8, 80 * ms, SaidNo}, {2, Ask, Silent, 7, 0, NoAnswer},
	} {
		t.Run(fmt.Sprint(c.hops, c.rule, c.mind), func(t *testing.T) {
			n := chain(t, c.hops, c.rule, c.mind)
			out, err := n.sims["sim-a"].Give(0, "ball", "sim-b")
			n.send("sim-a", out, err)
			n.run()
			require.Equal(t, c.want, n.carried)
			if c.why == "" {
				require.Equal(t, []string{"sim-b"}, n.holders("ball"))
				require.Equal(t, []Effective{{"ball", 1, metasim.At(c.at)}}, n.sims["sim-b"].Effects)
				require.Equal(t, without(c.at), n.sims["sim-b"].State("ball", c.at))
				return
			}
			require.Equal(t, []string{"sim-a"}, n.holders("ball"))
			require.Equal(t, []Refused{{"ball", c.why}}, n.sims["sim-a"].Refusals)
			r, _ := n.homes["home-b"].Record("ball")
			require.Equal(t, Record{"sim-a", "master", c.rule, 0}, r)
			if c.at > 0 {
				require.Equal(t, c.at, n.now.Time)
			}
		})
	}
}

// At one homeserver it takes three messages, and without any two.
func TestTransferNearby(t *testing.T) {
	n := newNetwork(t, nil)
	home := n.home(HomeConfig{Name: "home", Neighbours: []string{"sim-a", "sim-b"}})
	n.sim(SimConfig{Name: "sim-a", Home: "home"})
	n.sim(SimConfig{Name: "sim-b", Home: "home"}).Own("ball")
	home.Enter("ball", Record{Owner: "sim-b", Rule: Allow})
	out, err := n.sims["sim-a"].Take(0, "ball")
	n.send("sim-a", out, err)
	n.run()
	require.Equal(t, 3, n.carried)
	require.Equal(t, []Effective{{"ball", 1, metasim.At(30 * ms)}}, n.sims["sim-a"].Effects)

	n = newNetwork(t, nil)
	n.sim(SimConfig{Name: "sim-a"}).Own("ball")
	n.sim(SimConfig{Name: "sim-b"})
	out, err = n.sims["sim-a"].Give(0, "ball", "sim-b")
	n.send("sim-a", out, err)
	n.run()
	require.Equal(t, 2, n.carried)
	require.Equal(t, 20*ms, n.now.Time)
	require.Equal(t, []Effective{{"ball", 1, metasim.At(10 * ms)}}, n.sims["sim-b"].Effects)
}

// Without a homeserver the owner itself asks the master, under the rule ask, and hands over or not.
func TestTransferAsksTheMaster(t *testing.T) {
	for _, c := range []struct {
		rule Rule
		mind Mind
		want int
		why  Reason
	}{{Allow, Silent, 2, ""}, {Ask, Yes, 4, ""}, {Ask, No, 2, SaidNo}, {Ask, Silent, 1, NoAnswer}, {Deny, Yes, 0, Denied}} {
		t.Run(fmt.Sprint(c.rule, c.mind), func(t *testing.T) {
			n := newNetwork(t, nil)
			n.sim(SimConfig{Name: "sim-a", Rule: c.rule, Asks: "master", Patience: 100 * ms}).Own("ball")
			n.sim(SimConfig{Name: "sim-b"})
			n.sim(SimConfig{Name: "master", Master: c.mind})
			out, err := n.sims["sim-a"].Give(0, "ball", "sim-b")
			n.send("sim-a", out, err)
			if c.rule == Ask {
				_, err = n.sims["sim-a"].Give(0, "ball", "sim-b")
				require.ErrorContains(t, err, "it has asked, and waits")
			}
			n.run()
			require.Equal(t, c.want, n.carried)
			if c.why != "" {
				require.Equal(t, []string{"sim-a"}, n.holders("ball"))
				require.Equal(t, []Refused{{"ball", c.why}}, n.sims["sim-a"].Refusals)
				return
			}
			require.Equal(t, []string{"sim-b"}, n.holders("ball"))
			_, err = n.sims["sim-b"].Receive(n.now, "master", Message{Kind: Answer, Entity: "ball", Yes: true, Trail: []string{"master"}})
			require.ErrorContains(t, err, "only the master of the entity answers")
		})
	}
}

// Where two take an entity at once, the homeserver takes one after the other, and the entity follows.
func TestLastOneWins(t *testing.T) {
	n := newNetwork(t, nil)
	home := n.home(HomeConfig{Name: "home", Neighbours: []string{"a", "b", "c"}})
	for _, name := range []string{"a", "b", "c"} {
		n.sim(SimConfig{Name: name, Home: "home"})
	}
	n.sims["c"].Own("ball")
	home.Enter("ball", Record{Owner: "c", Rule: Allow})
	for _, name := range []string{"a", "b"} {
		out, err := n.sims[name].Take(0, "ball")
		n.send(name, out, err)
	}
	n.run()
	require.Equal(t, []string{"b"}, n.holders("ball"))
	r, _ := home.Record("ball")
	require.Equal(t, Record{Owner: "b", Rule: Allow, Epoch: 2}, r)
}

// Who does what it may not is told, and nothing changes.
func TestWrongMessages(t *testing.T) {
	n := chain(t, 1, Deny, Silent)
	home, sim := n.homes["home-b"], n.sims["sim-b"]
	before, _ := home.Record("ball")
	for want, m := range map[string]Message{
		`sim-b sent a message whose trail is ["sim-a"]; a sender appends itself, and nothing else`:                     {Kind: Request, Trail: []string{"sim-a"}},
		`sim-b sent home-b a message of kind "state": a homeserver takes requests, answers of masters and their rules`: {Kind: "state", Trail: []string{"sim-b"}},
		`sim-b sent home-b a message of kind "rule": only the master of the entity sets its rule`:                      {Kind: SetRule, Entity: "ball", Rule: Allow, Trail: []string{"sim-b"}},
		`sim-b sent home-b a message of kind "answer": only the master of the entity answers`:                          {Kind: Answer, Entity: "ball", Yes: true, Trail: []string{"sim-b"}},
	} {
		_, err := home.Receive(0, "sim-b", m)
		require.EqualError(t, err, want)
	}
	_, err := home.Receive(0, "master", Message{Kind: SetRule, Entity: "ball", Rule: "maybe", Trail: []string{"master"}})
	require.ErrorContains(t, err, "none of deny, ask and allow")
	after, _ := home.Record("ball")
	require.Equal(t, before, after)
	_, err = home.Receive(0, "master", Message{Kind: SetRule, Entity: "ball", Rule: Allow, Trail: []string{"master"}})
	require.NoError(t, err)
	after, _ = home.Record("ball")
	require.Equal(t, Allow, after.Rule)

	for want, m := range map[string]Message{
		"passes nothing on": {Kind: Grant, Route: []string{"x"}, Trail: []string{"sim-a"}},
		"has no state":      {Kind: Handover, Owner: "sim-b", Trail: []string{"sim-a"}},
		"nothing was asked": {Kind: Refusal, Trail: []string{"sim-a"}},
		"takes questions":   {Kind: Request, Trail: []string{"sim-a"}},
	} {
		_, err := sim.Receive(metasim.Instant{}, "sim-a", m)
		require.ErrorContains(t, err, want)
	}
	var held *HeldError
	_, err = sim.Give(0, "ball", "sim-a")
	require.ErrorAs(t, err, &held)
	_, err = n.sims["sim-a"].Take(0, "ball")
	require.ErrorAs(t, err, &held)
	_, err = sim.Take(0, "ball")
	require.NoError(t, err)
	_, err = sim.Take(0, "ball")
	require.ErrorContains(t, err, "it has asked, and waits")
}

// Without a homeserver nobody hands over what is here; and only who is handed an entity acknowledges it: else it would be lost.
func TestForgedTransfers(t *testing.T) {
	a := NewSimserver(SimConfig{Name: "a", Step: ms, Retry: 100 * ms})
	a.Own("ball")
	handover := Message{Kind: Handover, Entity: "ball", Owner: "a", Epoch: 9, State: &State{}, Confirm: true, Trail: []string{"c"}}
	_, err := a.Receive(metasim.Instant{}, "c", handover)
	require.ErrorContains(t, err, "ball is here, and was handed to nobody")
	require.Zero(t, a.Epoch("ball"))
	handover.Entity, handover.State = "box", &State{Body: &Body{Side: 9, VX: 10}}
	_, err = a.Receive(metasim.Instant{}, "c", handover)
	require.ErrorContains(t, err, "crosses it in one step")
	require.Equal(t, []string{"ball"}, a.Held())

	_, err = a.Give(0, "ball", "b")
	require.NoError(t, err)
	ack := Message{Kind: Ack, Entity: "ball", Epoch: 1, Trail: []string{"c"}}
	_, err = a.Receive(metasim.Instant{}, "c", ack)
	require.ErrorContains(t, err, "it was handed to another server")
	require.Len(t, a.Tick(100*ms), 1, "it says it again")
	ack.Trail[0] = "b"
	for range 2 { // it may come twice
		_, err = a.Receive(metasim.Instant{}, "b", ack)
		require.NoError(t, err)
	}
	require.Empty(t, a.Tick(200*ms))
}
