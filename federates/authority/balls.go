package authority

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"metasim/federates/authority/interest"
	"metasim/federates/authority/shard"
	"metasim/federates/authority/transfer"
	"metasim/federates/catalog"
	"metasim/metasim"
)

const metre = 1_000_000 // micrometres

// A ballserver is a simulation server whose entities move, in a square that all servers of its world compute together.
type ballserver struct {
	*simserver
	shard *shard.Shard
	shows bool
	next  metasim.Time // when it shows what it owns
}

// showEvery is the time from one picture to the next.
const showEvery = 100 * metasim.Millisecond

// ballName names the balls that a server begins with.
func ballName(server string, i int64) string { return fmt.Sprintf("%s-%03d", server, i) }

func newBallserver(in *catalog.Instance, s *simserver) (*ballserver, error) {
	neighbours, _ := catalog.Find[[]string](in, "neighbours")
	servers := slices.Sorted(slices.Values(append(slices.Clone(neighbours), in.Name)))
	step, side, sees := catalog.Get[metasim.Time](in, "step"), catalog.Get[int64](in, "side")*metre, catalog.Get[int64](in, "sees")*metre
	cfg := shard.Config{
		Name: in.Name, Servers: servers, Step: step, Every: uint64(catalog.Get[metasim.Time](in, "tick") / step), Side: side,
		Rings: []interest.Ring{{Within: sees, Every: 1}, {Within: 2 * sees, Every: 4}, {Within: 4 * sees, Every: 20}},
		Reach: catalog.Get[int64](in, "reach") * metre / 1000, Rest: uint64(metasim.Second / step),
		Window: uint64(catalog.Get[int64](in, "window")), Packet: 1200, Reads: uint64(catalog.Get[int64](in, "reads")),
		Balance: catalog.Get[metasim.Time](in, "balance"), Joins: catalog.Get[metasim.Time](in, "joins"), Leaves: metasim.Forever,
	}
	if leaves, ok := catalog.Find[metasim.Time](in, "leaves"); ok {
		cfg.Leaves = leaves
	}
	// The servers look from the middles of as many fields of a chessboard.
	wide := int64(1)
	for wide*wide < int64(len(servers)) {
		wide++
	}
	at, field := int64(slices.Index(servers, in.Name)), side/wide
	left, lower := at%wide*field, at/wide*field
	cfg.Look = [2]int64{left + field/2, lower + field/2}
	var names []string
	var bodies []transfer.Body
	rests := catalog.Get[int64](in, "resting")
	for i := range catalog.Get[int64](in, "balls") {
		names = append(names, ballName(in.Name, i))
		body := newBody(in.Seed, names[i], side, left, lower, field)
		if body.Slows = i < rests; body.Slows {
			body.VX, body.VY = 0, 0
		}
		bodies = append(bodies, body)
	}
	sh, err := shard.New(cfg, s.Simserver, names, bodies)
	_, shows := catalog.Find[string](in, "shows")
	return &ballserver{simserver: s, shard: sh, shows: shows}, err
}

// newBody draws where a ball begins, within a field, and its speed, up to 5 mm a step.
func newBody(seed uint64, name string, side, left, lower, field int64) transfer.Body {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // a hash takes all
	draw := rand.New(rand.NewPCG(seed, h.Sum64()))
	speed := func() int64 { return draw.Int64N(10_001) - 5000 }
	return transfer.Body{X: left + draw.Int64N(field), Y: lower + draw.Int64N(field), VX: speed(), VY: speed(), Side: side}
}

func (b *ballserver) wake() metasim.Time { return min(b.simserver.wake(), b.shard.Wake()) }

func (b *ballserver) tick(now metasim.Instant) (said, error) {
	says, err := b.simserver.tick(now)
	if err != nil {
		return says, err
	}
	packets, asked, err := b.shard.Tick(now.Time)
	if err != nil {
		return says, err
	}
	says.packets, says.envelopes = packets, append(says.envelopes, asked...)
	if b.shows && now.Time >= b.next {
		b.next = (now.Time/showEvery + 1) * showEvery
		says.shown, err = json.Marshal(b.shard.Show(now.Time))
	}
	return says, err
}

func (b *ballserver) packet(from string, payload []byte) error { return b.shard.Receive(from, payload) }

func (b *ballserver) result(end metasim.Time, wrong []string) any {
	r := b.simResult(end, wrong)
	r.Counts, r.Moves, r.Work = &b.shard.Counts, b.shard.Moves, b.shard.Work
	return r
}
