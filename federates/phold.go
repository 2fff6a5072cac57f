package federates

import (
	"fmt"
	"math"

	"metasim/metasim"
)

func pholdSpec() Spec {
	return Spec{
		Name: "phold",
		Doc:  "PHOLD: logical processes that answer each event with one event, here or elsewhere",
		Params: []Param{
			{Name: "lps", Type: Int, Required: true, Min: new(1.0), Max: new(float64(math.MaxUint32)),
				Doc: "logical processes in all, spread in blocks over the clients of the entry"},
			{Name: "population", Type: Int, Required: true, Min: new(1.0), Max: new(float64(math.MaxInt32)),
				Doc: "events that each process starts with"},
			{Name: "remote", Type: Float, Required: true, Min: new(0.0), Max: new(1.0),
				Doc: "the share of events that go to a process drawn from all"},
			{Name: "mean", Type: Duration, Required: true, Min: new(1.0),
				Doc: "mean time from an event to the one it causes"},
			{Name: "lookahead", Type: Duration, Required: true, Min: new(1.0),
				Doc: "the least such time, at most mean; also the delay of the links among these clients"},
			{Name: "grain", Type: Duration, Default: "0s", Min: new(0.0),
				Doc: "wall-clock time that computing an event takes"},
		},
		ports: pholdPorts,
	}
}

func pholdPorts(v values, env Env) (Ports, error) {
	mean, lookahead := get[metasim.Time](v, "mean"), get[metasim.Time](v, "lookahead")
	if lookahead > mean {
		return Ports{}, ParamErrors{{Model: "phold", Param: "lookahead",
			Wrong:  fmt.Sprintf("is %v, more than the mean of %v", lookahead, mean),
			Remedy: "write a lookahead of at most the mean"}}
	}
	p := Ports{Ending: Endless}
	for i := range env.count() {
		if i == env.Index {
			if env.count() > 1 {
				p.Subscriptions = append(p.Subscriptions, pholdChannel(env.Entry, i))
			}
			continue
		}
		p.Publications = append(p.Publications, pholdChannel(env.Entry, i))
	}
	return p, nil
}

// pholdChannel is the channel on which the i-th client of an entry receives events.
func pholdChannel(entry string, i int) string { return fmt.Sprintf("%s-%d", entry, i) }
