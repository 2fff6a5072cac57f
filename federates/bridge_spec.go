package federates

import (
	"slices"

	"metasim/lcm/names"
	"metasim/metasim"
)

// maxChannels is how many channels a bridge takes in: as many subscriptions as a tcpq server allows one connection.
const maxChannels = 256

func bridgeSpec() Spec {
	return Spec{
		Name: "bridge",
		Doc:  "joins an LCM network to a run in real time: chosen channels in, chosen channels out",
		Live: true,
		Params: []Param{
			{Name: "url", Type: Network, Required: true, Doc: "the network"},
			{Name: "in", Type: Channels, Max: new(float64(maxChannels)),
				Doc: "channels that it takes in: what comes on them is published here. Without it: none"},
			{Name: "out", Type: Patterns,
				Doc: "what it puts out, as it is delivered: each a channel name, or a regular expression that matches " +
					"the whole name. Without it: nothing"},
			{Name: "period", Type: Duration, Default: "10ms", Min: new(float64(100 * metasim.Microsecond)),
				Doc: "in simulated time: what came in is published at period, 2 period, ..., and never in between"},
			{Name: "serve", Type: Bool, Default: false,
				Doc: "it is the server of a tcpq network, and does not look for one"},
		},
		ports: func(v values, _ Env) (Ports, error) { return bridgePorts(v) },
		build: func(v values, _ Env, ports Ports) Model {
			return &bridge{
				url: get[string](v, "url"), serve: get[bool](v, "serve"), period: get[metasim.Time](v, "period"),
				in: ports.Publications, out: ports.Subscriptions,
			}
		},
	}
}

// bridgePorts checks the network and the channels of a bridge.
func bridgePorts(v values) (Ports, error) {
	var wrong ParamErrors
	fail := func(param, what, remedy string, err error) {
		wrong = append(wrong, &ParamError{Model: "bridge", Param: param, Wrong: what, Remedy: remedy, Err: err})
	}
	url := get[string](v, "url")
	address, err := names.Parse(url)
	switch isTCPQ := address.Scheme == "tcpq"; {
	case err != nil:
		fail("url", "is no LCM network: "+err.Error(),
			"write udpm://group:port?ttl=N or tcpq://host:port", err)
	case address.Scheme == "file":
		fail("url", "is an event log, and nothing is live in it",
			"play one with the model lcmlog; make one with metasim run --lcm or metasim log --lcm", nil)
	case get[bool](v, "serve") && !isTCPQ:
		fail("serve", "is true, and "+url+" has no server", "leave it out", nil)
	}
	in, _ := find[[]string](v, "in")   // none is nothing in
	out, _ := find[[]string](v, "out") // none is nothing out
	if len(in)+len(out) == 0 {
		fail("in", "and out name no channel", "name what goes in, what goes out, or both: "+Channels.example("in"), nil)
	}
	for i, name := range in {
		if err := names.CheckChannel(name); err != nil {
			fail("in", "cannot be: "+err.Error(), "mend the name", err)
		} else if slices.Contains(in[:i], name) {
			fail("in", "names "+name+" twice", "name it once", nil)
		}
	}
	if wrong != nil {
		return Ports{}, wrong
	}
	return Ports{Publications: in, Subscriptions: out, Ending: Endless, Network: address.Network()}, nil
}
