package run

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"metasim/record/journal"
	"metasim/scenarios"
	"metasim/wire"
)

// abouts says by name what the clients of a scenario are told of their parts.
func abouts(sc *scenarios.Scenario, dir journal.Dir) (map[string]wire.About, error) {
	path, err := filepath.Abs(dir.File(""))
	if err != nil {
		return nil, err
	}
	all := make(map[string]wire.About, len(sc.Clients))
	for i := range sc.Clients {
		about, err := aboutOf(&sc.Clients[i])
		if err != nil {
			return nil, err
		}
		about.Directory = path
		all[sc.Clients[i].Name] = about
	}
	return all, nil
}

// aboutOf is what a client is told in a replay too.
func aboutOf(cl *scenarios.Client) (wire.About, error) {
	about := wire.About{Entry: cl.Scope.Calls(cl.Entry), Index: uint32(cl.Index), Count: uint32(cl.Count)}
	if len(cl.With) > 0 {
		with, err := json.Marshal(cl.With)
		if err != nil {
			return about, fmt.Errorf("the parameters of client %q: %w", cl.Name, err)
		}
		about.With = string(with)
	}
	return about, nil
}
