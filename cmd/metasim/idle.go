package main

import "metasim/scenarios"

// idle returns the secondaries that have a process only while they have something to do: those of worlds with auto, if their processes may be started again.
func idle(sc *scenarios.Scenario) (names []string) {
	may := map[string]bool{}
	for i := range sc.Clients {
		if c := &sc.Clients[i]; c.Model == "world-secondary" && c.Restarts > 0 {
			may[c.Name] = true
		}
	}
	for i := range sc.Clients {
		if c := &sc.Clients[i]; c.Model == "world" && c.With["auto"] == true {
			all, _ := c.With["secondaries"].([]any) // as YAML has lists; the model says what is wrong with another value
			for _, name := range all {
				if name, ok := name.(string); ok && may[name] {
					names = append(names, name)
				}
			}
		}
	}
	return names
}
