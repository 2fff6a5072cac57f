package authority

import (
	"maps"
	"slices"
	"time"

	"metasim/federates/authority/balls"
	"metasim/federates/authority/store"
	"metasim/federates/authority/transfer"
	"metasim/federates/catalog"
	"metasim/metasim"
)

// Homeserver makes the model homeserver.
func Homeserver() *Server { return &Server{make: makeHomeserver} }

// Simserver makes the model simserver.
func Simserver() *Server { return &Server{make: makeSimserver} }

func makeHomeserver(in *catalog.Instance, from *saved, asks *asker) (machine, error) {
	neighbours, _ := catalog.Find[[]string](in, "neighbours")
	path, _ := catalog.Find[[]string](in, "path")
	entities, _ := catalog.Find[[]string](in, "entities")
	owner, _ := catalog.Find[string](in, "owner")
	master, _ := catalog.Find[string](in, "master")
	cfg := transfer.HomeConfig{Name: in.Name, Neighbours: neighbours, Path: path, Patience: catalog.Get[metasim.Time](in, "patience")}
	record := transfer.Record{Owner: owner, Master: master, Rule: transfer.Rule(catalog.Get[string](in, "rule"))}
	begin := map[string]transfer.Record{}
	for _, e := range entities {
		begin[e] = record
	}
	of, _ := catalog.Find[[]string](in, "of")
	for _, server := range of {
		record.Owner = server
		for i := range catalog.Get[int64](in, "balls") {
			begin[balls.Name(server, i)] = record
		}
	}
	entities = slices.Sorted(maps.Keys(begin))
	if asks.store != nil {
		return makeStored(in, asks, cfg, begin), nil
	}
	if from.Home != nil {
		return homeserver{transfer.ResumeHome(cfg, from.Home), entities}, nil
	}
	h := transfer.NewHomeserver(cfg)
	for _, e := range entities {
		h.Enter(e, begin[e])
	}
	return homeserver{h, entities}, nil
}

// makeStored makes a homeserver whose entities are in a store.
func makeStored(in *catalog.Instance, asks *asker, cfg transfer.HomeConfig, begin map[string]transfer.Record) *stored {
	asks.retry, asks.dies = catalog.Get[metasim.Time](in, "retry"), metasim.Forever
	s := &stored{cfg: cfg, begin: begin, entities: slices.Sorted(maps.Keys(begin)), asks: asks, again: metasim.Forever, member: store.Config{
		Instance: catalog.Get[string](in, "instance"), Kind: "homeserver", Name: in.Name, Stepped: true, Timeout: century,
		Lease: time.Duration(catalog.Get[metasim.Time](in, "lease")),
	}}
	if dies, mortal := catalog.Find[metasim.Time](in, "dies"); mortal {
		asks.dies = dies
	}
	if back, returns := catalog.Find[metasim.Time](in, "back"); returns {
		s.again = back
	}
	return s
}

func makeSimserver(in *catalog.Instance, from *saved, _ *asker) (machine, error) {
	home, _ := catalog.Find[string](in, "home")
	entities, _ := catalog.Find[[]string](in, "entities")
	s := &simserver{at: catalog.Get[metasim.Time](in, "at")}
	s.gives, _ = catalog.Find[string](in, "give")
	s.to, _ = catalog.Find[string](in, "to")
	s.takes, _ = catalog.Find[string](in, "take")
	if s.gives == "" && s.takes == "" {
		s.at = metasim.Forever
	}
	asks, _ := catalog.Find[string](in, "asks")
	minds := map[string]transfer.Mind{"yes": transfer.Yes, "no": transfer.No, "never": transfer.Silent}
	cfg := transfer.SimConfig{
		Name: in.Name, Home: home, Step: catalog.Get[metasim.Time](in, "step"), Retry: catalog.Get[metasim.Time](in, "retry"),
		Master: minds[catalog.Get[string](in, "answers")],
		Rule:   transfer.Rule(catalog.Get[string](in, "rule")), Asks: asks, Patience: catalog.Get[metasim.Time](in, "patience"),
	}
	if from.Sim != nil {
		s.Simserver, s.at, s.cause = transfer.Resume(cfg, from.Sim), from.At, from.Cause
	} else {
		s.Simserver = transfer.NewSimserver(cfg)
		for _, e := range entities {
			s.Own(e)
		}
	}
	if _, moves := catalog.Find[int64](in, "balls"); moves {
		return newBallserver(in, s, from)
	}
	return s, nil
}
