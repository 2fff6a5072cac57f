package scenarios

import (
	"regexp"
	"slices"
	"strings"

	"metasim/delay"
	"metasim/internal/scope"
)

// A Permission is the channels of a client: names, or regular expressions that match a whole name. A nil list allows all, an empty one none.
type Permission struct {
	Publish, Subscribe []string
	// Complete says that nobody else publishes what the scenario does not name: an expression may match more, and hears no more.
	Complete bool
}

// Permissions returns what clients may publish and subscribe to, by entry; entries that may use all channels are left out.
//
// A list of the client decides. An external client without one may use what the scenario names, if the scenario says enough: if some client
// has a list, or if all the others are models. Where it says nothing of the channels of other commands and external clients, all are allowed.
func (s *Scenario) Permissions() map[string]Permission {
	all := map[string]Permission{}
	lists, unknown := false, 0
	for i := range s.Clients {
		c := &s.Clients[i]
		lists = lists || c.Publish != nil || c.Subscribe != nil
		if c.Model == "" {
			unknown++
		}
	}
	var byScope map[*scope.Scope][]string
	if lists || unknown == 1 {
		byScope = s.namedChannels()
	}
	for i := range s.Clients {
		c := &s.Clients[i]
		named := byScope[c.Scope]
		p := Permission{Publish: c.Publish, Subscribe: c.Subscribe}
		if c.External && named != nil && (lists || len(named) > 0) {
			if p.Publish == nil {
				p.Publish = named
			}
			if p.Subscribe == nil {
				p.Subscribe, p.Complete = named, !lists
			}
		}
		if p.Publish != nil || p.Subscribe != nil {
			all[c.Entry] = p
		}
	}
	return all
}

// namedChannels lists the channels that a scenario names: in the parameters of models, in the lists of clients and in the rules of links; for
// each scenario inside in its own words. It is nil where there are too many to look at.
func (s *Scenario) namedChannels() map[*scope.Scope][]string {
	if s.Flow == nil || s.Flow.TooLarge() {
		return nil
	}
	all := map[*scope.Scope][]string{nil: {}}
	for _, of := range s.Scopes {
		all[of] = quoted(of.Exposed())
	}
	for i := range s.Flow.Groups {
		g := &s.Flow.Groups[i]
		of := s.Scopes.Of(g.Names[0])
		for _, channel := range g.Ports.Publications {
			if own, known := of.Own(channel); known {
				all[of] = append(all[of], regexp.QuoteMeta(own))
			}
		}
		all[of] = append(all[of], g.Own...)
	}
	for i := range s.Clients {
		of := s.Clients[i].Scope
		all[of] = append(all[of], slices.Concat(s.Clients[i].Publish, s.Clients[i].Subscribe)...)
	}
	for _, r := range s.Rules {
		if delay.MatchesAll(r.Channel) {
			continue
		}
		of := s.Scopes.Of(r.From)
		if own, known := of.Own(r.Channel); known {
			all[of] = append(all[of], strings.ReplaceAll(regexp.QuoteMeta(own), `\*`, ".*"))
		}
	}
	for of, named := range all {
		slices.Sort(named)
		all[of] = slices.Compact(named)
	}
	return all
}

func quoted(channels []string) (exprs []string) {
	exprs = []string{}
	for _, c := range channels {
		exprs = append(exprs, regexp.QuoteMeta(c))
	}
	return exprs
}
