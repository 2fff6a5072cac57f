package run

import (
	"context"
	"errors"
	"sync"

	"metasim/client"
	"metasim/federates"
	"metasim/scenarios"
)

// A party is clients that share a process and a connection: one, or several built-in models of one entry of a scenario.
type party []scenarios.Client

// parties divides the clients of a scenario, in their order: of an entry with a count, up to pack share.
func parties(clients []scenarios.Client, pack int) []party {
	var all []party
	for i := range clients {
		cl := clients[i]
		if n := len(all) - 1; n >= 0 && cl.Model != "" && all[n][0].Entry == cl.Entry && len(all[n]) < pack {
			all[n] = append(all[n], cl)
			continue
		}
		all = append(all, party{cl})
	}
	return all
}

// names returns the names of those in a party.
func (p party) names() []string {
	var names []string
	for _, cl := range p {
		names = append(names, cl.Name)
	}
	return names
}

// A Part is a built-in model that is to take part in a run under a name.
type Part struct {
	Name  string
	Model federates.Model
}

// TakePart takes part in a run with built-in models: one on a connection of its own, several over one that they share.
// It returns when all have left, or with what went wrong.
func TakePart(ctx context.Context, parts []Part, url, token string) error {
	if len(parts) == 1 {
		return Model(ctx, parts[0].Model, parts[0].Name, client.WithServer(url), client.WithToken(token), client.WithName(parts[0].Name))
	}
	host, err := client.Connect(ctx, client.WithServer(url))
	if err != nil {
		return err
	}
	return errors.Join(man(client.NewCrew(), parts, func(p Part, aboard client.Option) error {
		return Model(ctx, p.Model, p.Name, client.WithHost(host), client.WithToken(token), aboard)
	}), host.Close())
}

// man has a crew carry out parts, and waits until all have ended.
func man(crew *client.Crew, parts []Part, perform func(Part, client.Option) error) error {
	errs := make([]error, len(parts))
	var work sync.WaitGroup
	for i, p := range parts {
		work.Add(1)
		crew.Go(func(aboard client.Option) {
			defer work.Done()
			errs[i] = perform(p, aboard)
		})
	}
	work.Wait()
	return errors.Join(errs...)
}
