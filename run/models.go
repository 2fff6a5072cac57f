package run

import (
	"cmp"
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

// A group is the clients that share a process and a connection: one client, or several built-in models.
type group []scenarios.Client

// groups divides the clients of a scenario, in their order: up to pack models that follow one another, and that may be together, form a group.
func groups(clients []scenarios.Client, pack int, together func(a, b *scenarios.Client) bool) []group {
	var all []group
	for i := range clients {
		if n := len(all) - 1; n >= 0 && len(all[n]) < pack && together(&all[n][0], &clients[i]) {
			all[n] = append(all[n], clients[i])
			continue
		}
		all = append(all, group{clients[i]})
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

// An Instance describes built-in models of one process, on its command line: one client, or several that follow one
// another in their entry; and those of other entries in More.
type Instance struct {
	Name         string         `json:"name,omitempty"` // the full name of the client; empty: its process is told, or there are several
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
	DirOf        string         `json:"-"`              // what lies in Dir, in errors; empty: the scenario
	More         []Instance     `json:"more,omitempty"` // the other models of the process
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

// instances describe the models of a group.
func (g group) instances(seed uint64, allowOutside bool) Instance {
	var all []Instance
	for i := range g {
		cl := &g[i]
		if i > 0 && cl.Entry == g[i-1].Entry && cl.Scope == g[i-1].Scope {
			last := &all[len(all)-1]
			last.Name, last.Group = "", last.Group+1
			continue
		}
		all = append(all, Instance{
			Name: cl.Name, Model: cl.Model, With: cl.With, Scope: cl.Scope.Name(), Entry: cl.Scope.Calls(cl.Entry), Index: cl.Index, Count: cl.Count, Group: 1,
			Seed: seed, Dir: cl.Dir, AllowOutside: allowOutside,
		})
	}
	all[0].More = all[1:]
	return all[0]
}

// mostTold is how many bytes a process of several models is told of them: Linux lets an argument have 128 KiB.
const mostTold = 64 << 10

// fitting divides a group into such that their processes can be told of their models.
func (g group) fitting() []group {
	if len(g) == 1 {
		return []group{g}
	}
	text, err := json.Marshal(g.instances(0, false)) // an error is told where a process is started
	if err != nil || len(text) <= mostTold {
		return []group{g}
	}
	half := len(g) / 2
	return append(g[:half:half].fitting(), g[half:].fitting()...)
}

// Parts makes the models. A single model that is not named gets the name; several get the names that the scenario gives them.
func (in *Instance) Parts(name string) ([]Part, error) {
	var parts []Part
	name = cmp.Or(in.Name, name)
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
	for i := range in.More {
		more, err := in.More[i].Parts("")
		if err != nil {
			return nil, err
		}
		parts = append(parts, more...)
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
