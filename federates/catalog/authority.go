package catalog

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
)

// authorityChannel returns the channel on which a homeserver or a simulation server hears.
func authorityChannel(server string) string { return server + "/authority" }

// AuthorityNeighbours returns to whom a homeserver or a simulation server sends, in the order of its publications.
func AuthorityNeighbours(in *Instance) []string {
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
	for _, name := range AuthorityNeighbours(in) {
		in.Ports.Publications = append(in.Ports.Publications, authorityChannel(name))
	}
	in.Ports.Subscriptions = append(in.Ports.Subscriptions, regexp.QuoteMeta(authorityChannel(in.Name)))
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
	return nil
}
