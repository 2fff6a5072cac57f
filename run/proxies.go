package run

import (
	"metasim/federates/gateway"
	"metasim/metasim"
)

// proxiesOf returns the proxies of some clients, with the channels that any of others subscribes to, as they have declared.
func proxiesOf(declared map[string]*metasim.Join, names, others []string) (all []gateway.Proxy, err error) {
	patterns := map[string]metasim.Pattern{}
	for _, name := range others {
		d := declared[name]
		if d == nil {
			continue // a gateway itself
		}
		for _, s := range d.Subscriptions {
			if _, known := patterns[s]; known {
				continue
			}
			if patterns[s], err = metasim.CompilePattern(s); err != nil {
				return nil, err
			}
		}
	}
	heard := map[string]bool{}
	hears := func(channel string) bool {
		is, known := heard[channel]
		if known {
			return is
		}
		_, is = patterns[channel]
		for _, p := range patterns { // any of them: the order is of no interest
			is = is || p.Match(channel)
		}
		heard[channel] = is
		return is
	}
	for _, name := range names {
		p := gateway.Proxy{Name: name}
		if d := declared[name]; d != nil {
			for _, channel := range d.Publications {
				if hears(channel) {
					p.Channels = append(p.Channels, channel)
				}
			}
		}
		all = append(all, p)
	}
	return all, nil
}
