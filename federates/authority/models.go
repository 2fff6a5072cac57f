package authority

import (
	"context"

	"metasim/client"
	"metasim/federates/authority/balls"
	"metasim/federates/authority/transfer"
	"metasim/federates/catalog"
	"metasim/metasim"
)

// Homeserver is the model homeserver.
func Homeserver(ctx context.Context, c *client.Client, in *catalog.Instance, out []*client.Publication) error {
	neighbours, _ := catalog.Find[[]string](in, "neighbours")
	path, _ := catalog.Find[[]string](in, "path")
	entities, _ := catalog.Find[[]string](in, "entities")
	owner, _ := catalog.Find[string](in, "owner")
	master, _ := catalog.Find[string](in, "master")
	h := transfer.NewHomeserver(transfer.HomeConfig{Name: in.Name, Neighbours: neighbours, Path: path, Patience: catalog.Get[metasim.Time](in, "patience")})
	record := transfer.Record{Owner: owner, Master: master, Rule: transfer.Rule(catalog.Get[string](in, "rule"))}
	for _, e := range entities {
		h.Enter(e, record)
	}
	of, _ := catalog.Find[[]string](in, "of")
	for _, server := range of {
		record.Owner = server
		for i := range catalog.Get[int64](in, "balls") {
			entities = append(entities, balls.Name(server, i))
			h.Enter(entities[len(entities)-1], record)
		}
	}
	return serve(ctx, c, in, out, homeserver{h, entities})
}

// Simserver is the model simserver.
func Simserver(ctx context.Context, c *client.Client, in *catalog.Instance, out []*client.Publication) error {
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
	s.Simserver = transfer.NewSimserver(transfer.SimConfig{
		Name: in.Name, Home: home, Step: catalog.Get[metasim.Time](in, "step"), Retry: catalog.Get[metasim.Time](in, "retry"),
		Master: minds[catalog.Get[string](in, "answers")],
		Rule:   transfer.Rule(catalog.Get[string](in, "rule")), Asks: asks, Patience: catalog.Get[metasim.Time](in, "patience"),
	})
	for _, e := range entities {
		s.Own(e)
	}
	if _, moves := catalog.Find[int64](in, "balls"); moves {
		b, err := newBallserver(in, s)
		if err != nil {
			return err
		}
		return serve(ctx, c, in, out, b)
	}
	return serve(ctx, c, in, out, s)
}
