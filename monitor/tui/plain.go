package tui

import (
	"slices"

	"metasim/internal/plain"
	"metasim/monitor"
)

// plainView is a view in which nothing that others chose or wrote commands the terminal.
func plainView(v monitor.View) monitor.View {
	v.Scenario, v.State, v.Error, v.Slowest = plain.Text(v.Scenario), plain.Text(v.State), plain.Text(v.Error), plain.Text(v.Slowest)
	v.Chain = plainTexts(v.Chain)
	v.Clients = slices.Clone(v.Clients)
	for i := range v.Clients {
		c := &v.Clients[i]
		for _, text := range []*string{&c.Name, &c.Mix, &c.State, &c.Peer, &c.Holder, &c.Root, &c.Halted} {
			*text = plain.Text(*text)
		}
	}
	v.History = slices.Clone(v.History)
	for i := range v.History {
		h := &v.History[i]
		h.Holders = slices.Clone(h.Holders)
		for j := range h.Holders {
			h.Holders[j].Name = plain.Text(h.Holders[j].Name)
		}
	}
	return v
}

func plainTexts(texts []string) []string {
	texts = slices.Clone(texts)
	for i := range texts {
		texts[i] = plain.Text(texts[i])
	}
	return texts
}
