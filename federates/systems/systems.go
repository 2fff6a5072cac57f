// Package systems holds the systems that come with metasim, by the names that plugins of a world ask for them.
//
// To add a system, write it in a file here, and a line in the table. It has the interfaces of package world for the phases in which it
// takes part, and must be a function of what it is given: the same state, the same writes, wherever it runs.
package systems

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"metasim/federates/world"
	"metasim/internal/suggest"
)

// table has the systems. Nil: a system of Gazebo that has nothing to do here.
var table = map[string]func() any{
	"gz::sim":                            nil, // no system: levels and performers stand in it
	"gz::sim::systems::Physics":          func() any { return world.Physics{} },
	"gz::sim::systems::UserCommands":     nil,
	"gz::sim::systems::SceneBroadcaster": nil,
	"gz::sim::systems::Sensors":          func() any { return &sensors{} },
	"metasim::systems::Wind":             func() any { return &wind{} },
	"metasim::systems::Odometer":         func() any { return &odometer{} },
	"metasim::systems::Spawner":          func() any { return &spawner{} },
}

// New makes a system; nil for one that has nothing to do here. The error is an *UnknownError for a name that no system has.
func New(name string) (any, error) {
	make, known := table[plain(name)]
	switch {
	case !known:
		return nil, &UnknownError{name}
	case make == nil:
		return nil, nil
	}
	return make(), nil
}

// plain is the present name of a system that Gazebo called otherwise before.
func plain(name string) string {
	if old, found := strings.CutPrefix(name, "ignition::gazebo"); found {
		return "gz::sim" + old
	}
	return name
}

// An UnknownError says that no system has a name.
type UnknownError struct{ Name string }

func (e *UnknownError) Error() string {
	return fmt.Sprintf("there is no system %s; %s", e.Name, suggest.Word(e.Name, known()))
}

// known returns the names of systems, in order.
func known() []string {
	names := slices.Sorted(maps.Keys(table))
	return slices.DeleteFunc(names, func(name string) bool { return !strings.Contains(name, "::systems::") })
}
