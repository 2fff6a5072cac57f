package live

import (
	"fmt"
	"slices"
	"time"

	"metasim/federates/authority/balls"
	"metasim/federates/authority/pieces"
	"metasim/federates/authority/shard"
	"metasim/federates/authority/transfer"
	"metasim/metasim"
)

func (w *World) validate(c *Config) error {
	switch {
	case w.Balls < 0 || w.Resting < 0 || w.Resting > w.Balls:
		return &ConfigError{"the balls", fmt.Sprintf("are %d, of which %d rest; write 0 or more, and not more that rest", w.Balls, w.Resting)}
	case len(slices.Compact(slices.Sorted(slices.Values(w.Servers)))) < len(w.Servers):
		return &ConfigError{"the world", fmt.Sprintf("has a server twice: %q; name each once", w.Servers)}
	case w.Side <= 0 || w.Sees <= 0 || w.Reach < 0:
		return &ConfigError{"the square", "has no side, or nobody sees in it; write lengths above 0"}
	case w.Tick < c.Step || w.Tick%c.Step != 0:
		return &ConfigError{"the tick", fmt.Sprintf("is %v; write a multiple of the step, %v", w.Tick, c.Step)}
	case w.Packet > maxDatagram*pieces.MaxPieces/2:
		return &ConfigError{"the packet", fmt.Sprintf("has %d bytes; at most %d are put together", w.Packet, maxDatagram*pieces.MaxPieces/2)}
	}
	cfg := w.shard(c)
	return cfg.Validate()
}

func (w *World) shard(c *Config) shard.Config {
	servers := slices.Sorted(slices.Values(w.Servers))
	return shard.Config{
		Name: c.Name, Servers: servers, Step: c.Step, Every: uint64(w.Tick / c.Step), Side: w.Side, Look: balls.FieldOf(servers, c.Name, w.Side).Middle(), Rings: balls.Sees(w.Sees),
		Reach: w.Reach, Rest: uint64(metasim.Second / c.Step), Window: w.Window, Packet: w.Packet, Reads: w.Reads, Balance: w.Balance, Leaves: metasim.Forever,
	}
}

// names are the balls that a server brings.
func (w *World) names(server string) (all []string) {
	for i := range w.Balls {
		all = append(all, balls.Name(server, i))
	}
	return all
}

func newWorld(c *Config, sim *transfer.Simserver) (*world, error) {
	if c.World == nil {
		return nil, nil
	}
	cfg := c.World.shard(c)
	sh, err := shard.New(cfg, sim, nil, nil)
	if err != nil {
		return nil, err
	}
	return &world{
		cfg: c.World, shard: sh, names: c.World.names(c.Name), field: balls.FieldOf(cfg.Servers, c.Name, cfg.Side), split: map[string]*pieces.Splitter{}, join: map[string]*pieces.Joiner{},
		begun: uint64(time.Now().UnixNano()) &^ 0xffff,
	}, nil
}

// body is that of an entity that the server brings; nil: it is no ball.
func (w *world) body(entity string) *transfer.Body {
	if w == nil {
		return nil
	}
	i := slices.Index(w.names, entity)
	if i < 0 {
		return nil
	}
	b := w.field.Ball(w.cfg.Seed, entity, int64(i) < w.cfg.Resting)
	return &b
}

func (w *world) wake() metasim.Time {
	if w == nil {
		return metasim.Forever
	}
	return w.shard.Wake()
}

func (w *world) tick(now metasim.Time) ([]shard.Packet, []transfer.Envelope, error) {
	if w == nil {
		return nil, nil, nil
	}
	return w.shard.Tick(now)
}

// save returns what the world must not forget.
func (w *world) save() []shard.Kept {
	if w == nil {
		return nil
	}
	return w.shard.Claims()
}

func (w *world) restore(now metasim.Time, all []shard.Kept) {
	if w != nil {
		w.shard.Reclaim(now, all)
	}
}

// A StayError: a server was told to leave, and nothing says who gets what it owns.
type StayError struct {
	Server string
	Owns   int
	Why    string
}

func (e *StayError) Error() string {
	return fmt.Sprintf("%s cannot leave: it owns %d entities, and %s; give each away (give ENTITY SERVER), and say leave then", e.Server, e.Owns, e.Why)
}

// leave has the server give away what it owns, and say so when all of that has arrived.
func (s *server) leave(now metasim.Time) error {
	owns := len(s.sim.Held())
	switch {
	case s.world != nil && s.cfg.World.Balance > 0:
		s.world.shard.Leave(now)
	case owns > 0 && s.world != nil:
		return &StayError{s.cfg.Name, owns, "its --balance is 0, so work is never compared"}
	case owns > 0:
		return &StayError{s.cfg.Name, owns, "without --world nothing says who gets them"}
	}
	s.leaving = true
	return nil
}

// left reports that a server that leaves may be ended: it owns nothing, who got what it owned has acknowledged it, and it moves nothing of others.
func (s *server) left() bool {
	return s.leaving && len(s.sim.Held()) == 0 && s.sim.Wake() == metasim.Forever && (s.world == nil || !s.world.shard.MovesAny())
}

// A WorldlessError: a server was told of balls, and moves none.
type WorldlessError struct{ From string }

func (e *WorldlessError) Error() string {
	return e.From + " tells of balls, and this server moves none; start it with --world, and the names of all servers"
}

// receive takes a piece of what another server tells.
func (w *world) receive(from string, piece []byte) error {
	if w == nil {
		return &WorldlessError{from}
	}
	if !slices.Contains(w.cfg.Servers, from) {
		return &shard.StrangerError{From: from}
	}
	if w.join[from] == nil {
		w.join[from] = &pieces.Joiner{}
	}
	life, stream := w.join[from].Session()
	b, err := w.join[from].Join(piece)
	if now, anew := w.join[from].Session(); life != 0 && (now != life || anew != stream) {
		w.shard.Renew(from, now != life)
		if now != life && w.split[from] != nil {
			w.split[from] = w.split[from].Again()
		}
	}
	if err != nil || b == nil {
		return err
	}
	return w.shard.Receive(from, b)
}
