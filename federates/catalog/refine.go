package catalog

import (
	"cmp"
	"fmt"
	"slices"

	"metasim/lcm/names"
	"metasim/metasim"
)

// refineSource lets a source with a count leave.
func refineSource(in *Instance) error {
	if _, ok := Find[int64](in, "count"); ok {
		in.Ports.Ending = Leaves
	}
	return nil
}

// refineRing lets the first of a ring go on for ever: a ring is there to be closed, and a closed one is endless.
func refineRing(in *Instance) error {
	if Get[bool](in, "first") {
		in.Ports.Ending = Endless
	}
	return nil
}

func refinePlant(in *Instance) error {
	period, sample := Get[metasim.Time](in, "period"), Get[metasim.Time](in, "sample")
	if sample%period == 0 {
		return nil
	}
	return ParamErrors{{Model: "cartpole-plant", Param: "sample",
		Wrong:  fmt.Sprintf("is %v, no multiple of the period of %v", sample, period),
		Remedy: fmt.Sprintf("write %v", max(period, sample-sample%period))}}
}

// refinePHOLD gives each client of the entry a channel on which it receives events. A client publishes on those of the
// others, in order of their index.
func refinePHOLD(in *Instance) error {
	mean, lookahead := Get[metasim.Time](in, "mean"), Get[metasim.Time](in, "lookahead")
	if lookahead > mean {
		return ParamErrors{{Model: "phold", Param: "lookahead",
			Wrong:  fmt.Sprintf("is %v, more than the mean of %v", lookahead, mean),
			Remedy: "write a lookahead of at most the mean"}}
	}
	parts, part := int(Get[int64](in, "parts")), int(Get[int64](in, "part"))
	if part >= parts {
		return ParamErrors{{Model: "phold", Param: "part", Wrong: fmt.Sprintf("is %d of %d parts, which are counted from 0", part, parts), Remedy: "write a smaller one"}}
	}
	own, count := part*in.Count+in.Index, parts*in.Count
	prefix, _ := Find[string](in, "channel") // absent is the entry
	for i := range count {
		channel := fmt.Sprintf("%s-%d", cmp.Or(prefix, in.Entry), i)
		switch {
		case i != own:
			in.Ports.Publications = append(in.Ports.Publications, channel)
		case count > 1:
			in.Ports.Subscriptions = append(in.Ports.Subscriptions, channel)
		}
	}
	return nil
}

// maxBridged is how many channels a bridge takes in: as many subscriptions as a tcpq server allows one connection.
const maxBridged = 256

// refineBridge checks the network and the channels of a bridge.
func refineBridge(in *Instance) error {
	var wrong ParamErrors
	fail := func(param, what, remedy string, err error) {
		wrong = append(wrong, &ParamError{Model: "bridge", Param: param, Wrong: what, Remedy: remedy, Err: err})
	}
	url := Get[string](in, "url")
	address, err := names.Parse(url)
	switch {
	case err != nil:
		fail("url", "is no LCM network: "+err.Error(), "write udpm://group:port?ttl=N or tcpq://host:port", err)
	case address.Scheme == "file":
		fail("url", "is an event log, which no program joins in real time",
			"play one with the model lcmlog; make one with metasim run --lcm or metasim log --lcm", nil)
	case Get[bool](in, "serve") && address.Scheme != "tcpq":
		fail("serve", "is true, and "+url+" has no server", "leave it out", nil)
	}
	taken := in.Ports.Publications
	if len(taken)+len(in.Ports.Subscriptions) == 0 {
		fail("in", "and out name no channel", "name what goes in, what goes out, or both: "+Channels.example("in"), nil)
	}
	for i, name := range taken {
		if err := names.CheckChannel(name); err != nil {
			fail("in", "cannot be: "+err.Error(), "mend the name", err)
		} else if slices.Contains(taken[:i], name) {
			fail("in", "names "+name+" twice", "name it once", nil)
		}
	}
	if wrong != nil {
		return wrong
	}
	in.Ports.Network = address.Network()
	return nil
}
