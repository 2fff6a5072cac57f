package run

import (
	"metasim/federates/catalog"
	"metasim/monitor/worlds"
	"metasim/scenarios"
)

// mapPage is where the page of a run shows its worlds from above.
const mapPage = "/map/"

// mapsOf returns the page of the worlds that publish maps; nil if there are none, or nobody can look.
func mapsOf(o *Options, sc *scenarios.Scenario) *worlds.Page {
	if o.Live == nil || o.Live.HTTP == "" {
		return nil
	}
	var channels []string
	for i := range sc.Clients {
		if c := &sc.Clients[i]; c.Model == "world" && c.With["map"] != nil {
			channels = append(channels, catalog.MapChannel(c.Name))
		}
	}
	if channels == nil {
		return nil
	}
	return worlds.New(channels)
}
