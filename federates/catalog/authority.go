package catalog

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"metasim/metasim"
)

// AuthorityChannels returns the channels on which a server hears: a homeserver and a simulation server of transfers, and a simulation server with balls of
// updates of entities.
func AuthorityChannels(server string) (authority, updates string) {
	return server + "/authority", server + "/updates"
}

// authorityNeighbours returns to whom a homeserver or a simulation server sends, in the order of its publications.
func authorityNeighbours(in *Instance) []string {
	var all []string
	for _, param := range []string{"home", "neighbours", "path", "asks"} {
		if name, ok := in.params[param].(string); ok && !slices.Contains(all, name) {
			all = append(all, name)
		}
		list, _ := in.params[param].([]string)
		if param == "path" {
			list = list[:min(1, len(list))]
		}
		for _, name := range list {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// connectServer gives a server its channels.
func connectServer(in *Instance) {
	for _, name := range authorityNeighbours(in) {
		authority, _ := AuthorityChannels(name)
		in.Ports.Publications = append(in.Ports.Publications, authority)
	}
	authority, _ := AuthorityChannels(in.Name)
	in.Ports.Subscriptions = append(in.Ports.Subscriptions, regexp.QuoteMeta(authority))
}

// connectBalls gives a simulation server whose entities move the channels of their updates.
func connectBalls(in *Instance) error {
	wrong := func(param, why, remedy string) error {
		return ParamErrors{{Model: "simserver", Param: param, Wrong: why, Remedy: remedy}}
	}
	step, tick := Get[metasim.Time](in, "step"), Get[metasim.Time](in, "tick")
	if tick%step != 0 {
		return wrong("tick", fmt.Sprintf("is %v, and step %v", tick, step), "write a multiple of step")
	}
	if balance := Get[metasim.Time](in, "balance"); balance > 0 && balance < 4*tick {
		return wrong("balance", "is "+balance.String(), fmt.Sprintf("write 0s, or at least four ticks, %v", 4*tick))
	}
	if window := Get[int64](in, "window"); window < 1200 {
		return wrong("window", "is "+show(window), "write at least 1200, the bytes of a packet")
	}
	if Get[int64](in, "resting") > Get[int64](in, "balls") {
		return wrong("resting", "is more than balls", "write at most as many")
	}
	in.Ports.Ending = Endless
	neighbours, _ := Find[[]string](in, "neighbours")
	if slices.Contains(neighbours, in.Name) {
		return wrong("neighbours", "has the server itself", "name the others")
	}
	for _, name := range neighbours {
		_, updates := AuthorityChannels(name)
		in.Ports.Publications = append(in.Ports.Publications, updates)
	}
	if shows, ok := Find[string](in, "shows"); ok {
		in.Ports.Publications = append(in.Ports.Publications, shows)
	}
	_, updates := AuthorityChannels(in.Name)
	in.Ports.Subscriptions = append(in.Ports.Subscriptions, regexp.QuoteMeta(updates))
	return nil
}

// oneOf checks a parameter that is one of a few words.
func oneOf(in *Instance, model, param string, may ...string) error {
	if value := Get[string](in, param); !slices.Contains(may, value) {
		return ParamErrors{{Model: model, Param: param, Wrong: "is " + show(value), Remedy: fmt.Sprintf("write one of %v", may)}}
	}
	return nil
}

func refineHomeserver(in *Instance) error {
	if err := oneOf(in, "homeserver", "rule", "deny", "ask", "allow"); err != nil {
		return err
	}
	_, of := Find[[]string](in, "of")
	if _, balls := Find[int64](in, "balls"); of && !balls {
		return ParamErrors{{Model: "homeserver", Param: "balls", Wrong: "is missing, and of is written", Remedy: "write both, or none"}}
	}
	entities, _ := Find[[]string](in, "entities")
	if _, owned := Find[string](in, "owner"); len(entities) > 0 && !owned {
		return ParamErrors{{Model: "homeserver", Param: "owner", Wrong: "is missing, and there are entities", Remedy: "name the simulation server that owns them at the beginning"}}
	}
	connectServer(in)
	return nil
}

func refineSimserver(in *Instance) error {
	if err := errors.Join(oneOf(in, "simserver", "answers", "yes", "no", "never"), oneOf(in, "simserver", "rule", "deny", "ask", "allow")); err != nil {
		return err
	}
	_, gives := Find[string](in, "give")
	_, takes := Find[string](in, "take")
	_, to := Find[string](in, "to")
	_, home := Find[string](in, "home")
	switch {
	case gives && takes:
		return ParamErrors{{Model: "simserver", Param: "take", Wrong: "is written, and give too", Remedy: "write one of them"}}
	case gives != to:
		return ParamErrors{{Model: "simserver", Param: "to", Wrong: "and give belong together", Remedy: "write both, or none"}}
	case takes && !home:
		return ParamErrors{{Model: "simserver", Param: "take", Wrong: "has nobody to ask", Remedy: "name the homeserver in home"}}
	}
	connectServer(in)
	if _, balls := Find[int64](in, "balls"); balls {
		return connectBalls(in)
	}
	return nil
}
