package authority

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"metasim/federates/authority/balls"
	"metasim/federates/authority/shard"
	"metasim/federates/authority/transfer"
	"metasim/federates/catalog"
	"metasim/metasim"
)

// A ballserver is a simulation server whose entities move, in a square that all servers of its world compute together.
type ballserver struct {
	*simserver
	shard *shard.Shard
	shows bool
	next  metasim.Time // when it shows what it owns

	self         string
	servers      []string // of its world, in order
	asked, costs string   // the channels of the meter; empty: there is none
	period       metasim.Time
	asks         metasim.Time // when it asks the meter, as the first of its world; metasim.Forever: it does not
}

// showEvery is the time from one picture to the next.
const showEvery = 100 * metasim.Millisecond

func newBallserver(in *catalog.Instance, s *simserver, from *saved) (*ballserver, error) {
	neighbours, _ := catalog.Find[[]string](in, "neighbours")
	servers := slices.Sorted(slices.Values(append(slices.Clone(neighbours), in.Name)))
	step, side, sees := catalog.Get[metasim.Time](in, "step"), catalog.Get[int64](in, "side")*balls.Metre, catalog.Get[int64](in, "sees")*balls.Metre
	cfg := shard.Config{
		Name: in.Name, Servers: servers, Step: step, Every: uint64(catalog.Get[metasim.Time](in, "tick") / step), Side: side,
		Rings: balls.Sees(sees),
		Reach: catalog.Get[int64](in, "reach") * balls.Metre / 1000, Rest: uint64(metasim.Second / step),
		Window: uint64(catalog.Get[int64](in, "window")), Packet: 1200, Reads: uint64(catalog.Get[int64](in, "reads")),
		Balance: catalog.Get[metasim.Time](in, "balance"), Joins: catalog.Get[metasim.Time](in, "joins"), Leaves: metasim.Forever,
	}
	if full, some := catalog.Find[int64](in, "full"); some {
		cfg.Full = uint64(full)
	}
	if leaves, ok := catalog.Find[metasim.Time](in, "leaves"); ok {
		cfg.Leaves = leaves
	}
	field := balls.FieldOf(servers, in.Name, side)
	cfg.Look = field.Middle()
	_, shows := catalog.Find[string](in, "shows")
	b := &ballserver{simserver: s, self: in.Name, shows: shows, next: from.Next, servers: servers, asks: metasim.Forever}
	if meter, measured := catalog.Find[string](in, "meter"); measured {
		cfg.Meter, b.period = true, cfg.Balance
		b.asked, b.costs = catalog.MeterChannels(meter)
		if servers[0] == in.Name {
			b.asks = from.Asks
		}
	}
	var err error
	if from.Sim != nil {
		b.shard, err = shard.Restore(cfg, s.Simserver, from.Shard)
		return b, err
	}
	var names []string
	var bodies []transfer.Body
	rests := catalog.Get[int64](in, "resting")
	for i := range catalog.Get[int64](in, "balls") {
		names = append(names, balls.Name(in.Name, i))
		bodies = append(bodies, field.Ball(in.Seed, names[i], i < rests))
	}
	b.shard, err = shard.New(cfg, s.Simserver, names, bodies)
	return b, err
}

func (b *ballserver) wake() metasim.Time { return min(b.simserver.wake(), b.shard.Wake()) }

func (b *ballserver) tick(ctx context.Context, now metasim.Instant) (said, error) {
	says, err := b.simserver.tick(ctx, now)
	if err != nil {
		return says, err
	}
	packets, asked, err := b.shard.Tick(now.Time)
	if err != nil {
		return says, err
	}
	says.packets, says.envelopes = packets, append(says.envelopes, asked...)
	if now.Time >= b.asks {
		b.asks = (now.Time/b.period + 1) * b.period
		says.asks = b.asked
	}
	if b.shows && now.Time >= b.next {
		b.next = (now.Time/showEvery + 1) * showEvery
		says.shown, err = json.Marshal(b.shard.Show(now.Time))
	}
	return says, err
}

func (b *ballserver) save(to *saved) error {
	to.Shard, to.Next, to.Asks = b.shard.Save(), b.next, b.asks
	return b.simserver.save(to)
}

func (b *ballserver) packet(channel, from string, payload []byte) error {
	if channel != b.costs {
		return b.shard.Receive(from, payload)
	}
	if len(payload) != 8*len(b.servers) {
		return &CostError{from, len(payload), b.servers}
	}
	at := slices.Index(b.servers, b.self)
	b.shard.Cost(binary.LittleEndian.Uint64(payload[8*at:]))
	return nil
}

// A CostError: what a meter says is not of the servers of this world.
type CostError struct {
	From    string
	Bytes   int
	Servers []string
}

func (e *CostError) Error() string {
	return fmt.Sprintf("%s says in %d bytes what servers take, and there are %d; name as its secondaries %s, in this order", e.From, e.Bytes, len(e.Servers), strings.Join(e.Servers, ", "))
}

func (b *ballserver) result(end metasim.Time, wrong []string) any {
	r := b.simResult(end, wrong)
	r.Counts, r.Moves, r.Work, r.Parts = &b.shard.Counts, b.shard.Moves, b.shard.Work, b.shard.Parts
	return r
}
