package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"metasim/client"
	"metasim/federates"
	"metasim/federates/catalog"
	"metasim/scenarios"
	"metasim/wire/transport/all"
)

// A group is the clients that share a process and a connection: one client, or several built-in models of one entry of a
// scenario.
type group []scenarios.Client

// groups divides the clients of a scenario, in their order: up to pack models of one entry form a group. A client that may be started again, or
// ended because it hangs, is alone.
func groups(clients []scenarios.Client, pack int) []group {
	var all []group
	for i := range clients {
		cl := clients[i]
		if n := len(all) - 1; n >= 0 && cl.Model != "" && cl.Restarts == 0 && cl.HangTimeout == 0 && all[n][0].Entry == cl.Entry && len(all[n]) < pack {
			all[n] = append(all[n], cl)
			continue
		}
		all = append(all, group{cl})
	}
	return all
}

// names returns the names of the clients in a group.
func (g group) names() []string {
	var names []string
	for i := range g {
		names = append(names, g[i].Name)
	}
	return names
}

// A Part is a built-in model that takes part in a run, and the name of its client.
type Part struct {
	Name  string
	Model *federates.Model
}

// An Instance describes the built-in models of one process, on its command line: one client, or several that follow one
// another in their entry.
type Instance struct {
	Model        string         `json:"model"`
	With         map[string]any `json:"with,omitempty"`
	Scope        string         `json:"scope,omitempty"` // the full name of the scenario inside that the clients are from
	Entry        string         `json:"entry"`           // there
	Index        int            `json:"index"`
	Count        int            `json:"count"`
	Group        int            `json:"group,omitempty"` // how many clients, from Index on; 0 counts as 1
	Seed         uint64         `json:"seed"`
	Dir          string         `json:"dir"`
	AllowOutside bool           `json:"allow_outside,omitempty"`
	DirOf        string         `json:"-"` // what lies in Dir, in errors; empty: the scenario
}

// ParseInstance reads the argument after "client --instance".
func ParseInstance(text string) (*Instance, error) {
	var in Instance
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&in); err != nil {
		return nil, fmt.Errorf("--instance: %w", err)
	}
	return &in, nil
}

// Parts makes the models. A single model gets the name; several get the names that the scenario gives them.
func (in *Instance) Parts(name string) ([]Part, error) {
	var parts []Part
	for i := range max(in.Group, 1) {
		if in.Group > 1 {
			name = in.within() + fmt.Sprintf("%s-%d", in.Entry, in.Index+i)
		}
		m, err := federates.New(in.Model, in.With, catalog.Env{
			Name: strings.TrimPrefix(name, in.within()), Full: name, Entry: in.Entry, Index: in.Index + i, Count: in.Count, Seed: in.Seed, Dir: in.Dir,
			Open: func(path string) (io.ReadCloser, error) {
				return scenarios.OpenFile(in.Dir, path, in.AllowOutside, in.DirOf)
			},
		})
		if err != nil {
			return nil, err
		}
		parts = append(parts, Part{name, m})
	}
	return parts, nil
}

// within is what the full names of the clients begin with.
func (in *Instance) within() string {
	if in.Scope == "" {
		return ""
	}
	return in.Scope + "/"
}

// TakePart takes part in a run with built-in models: one on a connection of its own, several on one that they share. It
// returns when all have left, or with what went wrong.
func TakePart(ctx context.Context, parts []Part, url, token string) error {
	transports := client.WithTransports(all.Table())
	if len(parts) == 1 {
		p := parts[0]
		return federates.TakePart(ctx, p.Model, p.Name, transports, client.WithServer(url), client.WithToken(token), client.WithName(p.Name))
	}
	host, err := client.Connect(ctx, transports, client.WithServer(url))
	if err != nil {
		return err
	}
	return errors.Join(runParts(ctx, client.NewScheduler(), parts, token, host), host.Close())
}

// runParts runs models on a connection that they share, and returns when all have ended.
func runParts(ctx context.Context, scheduler *client.Scheduler, parts []Part, token string, host *client.Host) error {
	errs := make([]error, len(parts))
	var running sync.WaitGroup
	for i, p := range parts {
		running.Add(1)
		scheduler.Go(func(scheduled client.Option) {
			defer running.Done()
			errs[i] = federates.TakePart(ctx, p.Model, p.Name, client.WithHost(host), client.WithToken(token), scheduled)
		})
	}
	running.Wait()
	return errors.Join(errs...)
}
