package scenarios

import (
	"regexp"
	"slices"
	"strings"

	"metasim/delay"
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
	var named []string
	if lists || unknown == 1 {
		named = s.namedChannels()
	}
	for i := range s.Clients {
		c := &s.Clients[i]
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

// namedChannels lists the channels that a scenario names: in the parameters of models, in the lists of clients and in the rules of links. It
// is nil where there are too many to look at.
func (s *Scenario) namedChannels() []string {
	if s.Flow == nil || s.Flow.TooLarge() {
		return nil
	}
	named := []string{}
	for i := range s.Flow.Groups {
		ports := &s.Flow.Groups[i].Ports
		for _, channel := range ports.Publications {
			named = append(named, regexp.QuoteMeta(channel))
		}
		named = append(named, ports.Subscriptions...)
	}
	for i := range s.Clients {
		named = append(named, slices.Concat(s.Clients[i].Publish, s.Clients[i].Subscribe)...)
	}
	for _, r := range s.Rules {
		if !delay.MatchesAll(r.Channel) {
			named = append(named, strings.ReplaceAll(regexp.QuoteMeta(r.Channel), `\*`, ".*"))
		}
	}
	slices.Sort(named)
	return slices.Compact(named)
}
