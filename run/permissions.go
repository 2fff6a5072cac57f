package run

import (
	"metasim/scenarios"
	"metasim/wire/session"
)

// permissions returns which channels clients may use, by name. The clients of an entry share theirs.
func permissions(sc *scenarios.Scenario) (map[string]session.Permission, error) {
	entries, all := map[string]session.Permission{}, map[string]session.Permission{}
	for entry, lists := range sc.Permissions() {
		publish, err := session.NewChannels("publish", lists.Publish)
		if err != nil {
			return nil, err
		}
		subscribe, err := session.NewChannels("subscribe", lists.Subscribe)
		if err != nil {
			return nil, err
		}
		if lists.Complete {
			subscribe = subscribe.AnyExpression()
		}
		entries[entry] = session.Permission{Publish: publish, Subscribe: subscribe}
	}
	for i := range sc.Clients {
		if p, limited := entries[sc.Clients[i].Entry]; limited {
			all[sc.Clients[i].Name] = p
		}
	}
	return all, nil
}
