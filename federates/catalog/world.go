package catalog

import (
	"fmt"
	"slices"
	"strings"

	"metasim/metasim"
)

// LockStepChannels returns where a world calls a system that runs in another client, and where the system answers.
func LockStepChannels(world, system string) (call, reply string) {
	return world + "/" + system + "/call", world + "/" + system + "/reply"
}

// ResetChannel returns where a world hears that it is to go back to its start.
func ResetChannel(world string) string { return world + "/reset" }

// StateChannel returns where a world publishes its states.
func StateChannel(world string) string { return world + "/state" }

// MapChannel returns where a world publishes what it looks like from above, as package worldmap encodes it.
func MapChannel(world string) string { return world + "/map" }

// PerformerChannels returns where a world hears which models are to be performers, and where it answers.
func PerformerChannels(world string) (request, reply string) {
	request = world + "/level/set_performer"
	return request, request + "/reply"
}

// policies are those of package levels, which the catalog does not link.
var policies = []string{"gz", "document", "none"}

// refineWorld gives a world the channels to its systems, behind its topics: the hashes, the states, the answers about performers, the maps, orders to its
// secondaries, questions to its meter, then calls in the order of remote.
func refineWorld(in *Instance) error {
	if _, ok := Find[int64](in, "iterations"); ok {
		in.Ports.Ending = Leaves
	}
	if Get[bool](in, "hashes") {
		in.Ports.Publications = append(in.Ports.Publications, in.Name+"/hash")
	}
	if Get[bool](in, "states") {
		in.Ports.Publications = append(in.Ports.Publications, StateChannel(in.Name))
	}
	if policy := Get[string](in, "policy"); !slices.Contains(policies, policy) {
		return ParamErrors{{Model: "world", Param: "policy", Wrong: "is " + show(policy), Remedy: "write one of " + strings.Join(policies, ", ")}}
	}
	if Get[bool](in, "set_performer") {
		request, reply := PerformerChannels(in.Name)
		in.Ports.Publications = append(in.Ports.Publications, reply)
		in.Ports.Subscriptions = append(in.Ports.Subscriptions, request)
	}
	if Get[metasim.Time](in, "map") > 0 {
		in.Ports.Publications = append(in.Ports.Publications, MapChannel(in.Name))
	}
	secondaries, _ := Find[[]string](in, "secondaries")
	for i, name := range secondaries {
		if slices.Contains(secondaries[:i], name) {
			return ParamErrors{{Model: "world", Param: "secondaries", Wrong: fmt.Sprintf("names %s twice", name), Remedy: "name it once"}}
		}
		order, ack := SecondaryChannels(in.Name, name)
		in.Ports.Publications = append(in.Ports.Publications, order)
		in.Ports.Subscriptions = append(in.Ports.Subscriptions, ack)
	}
	if _, measured := Find[string](in, "meter"); measured {
		ask, cost := MeterChannels(in.Name)
		in.Ports.Publications = append(in.Ports.Publications, ask)
		in.Ports.Subscriptions = append(in.Ports.Subscriptions, cost)
	}
	if Get[bool](in, "resets") {
		in.Ports.Subscriptions = append(in.Ports.Subscriptions, ResetChannel(in.Name))
	}
	remote, _ := Find[[]string](in, "remote")
	for i, system := range remote {
		if slices.Contains(remote[:i], system) {
			return ParamErrors{{Model: "world", Param: "remote", Wrong: fmt.Sprintf("names %s twice", system), Remedy: "name it once"}}
		}
		call, reply := LockStepChannels(in.Name, system)
		in.Ports.Publications = append(in.Ports.Publications, call)
		in.Ports.Subscriptions = append(in.Ports.Subscriptions, reply)
	}
	return nil
}

// SecondaryChannels returns where a world orders steps of a secondary, and where that acknowledges them.
func SecondaryChannels(world, secondary string) (order, ack string) {
	return world + "/" + secondary + "/order", world + "/" + secondary + "/ack"
}

// MeterChannels returns where a world asks what its secondaries take, and where its meter answers.
func MeterChannels(world string) (ask, cost string) {
	return world + "/meter/ask", world + "/meter/cost"
}

// refineMeter gives a meter its channels.
func refineMeter(in *Instance) error {
	ask, cost := MeterChannels(Get[string](in, "world"))
	in.Ports.Publications, in.Ports.Subscriptions = []string{cost}, []string{ask}
	return nil
}

// refineSecondary gives a secondary its channels.
func refineSecondary(in *Instance) error {
	order, ack := SecondaryChannels(Get[string](in, "world"), in.Name)
	in.Ports.Publications, in.Ports.Subscriptions = []string{ack}, []string{order}
	return nil
}

// LockStepOf returns the client of the world for which a runtime runs a system, and that system.
func LockStepOf(in *Instance) (world, system string) {
	system, named := Find[string](in, "system")
	if !named {
		system = in.Name
	}
	return Get[string](in, "world"), system
}

// refineRuntime gives the runtime of a system its channels.
func refineRuntime(in *Instance) error {
	world, system := LockStepOf(in)
	call, reply := LockStepChannels(world, system)
	in.Ports.Publications, in.Ports.Subscriptions = append(in.Ports.Publications, reply), []string{call} // behind its topics
	if Get[bool](in, "stats") {
		in.Ports.Publications = append(in.Ports.Publications, world+"/"+system+"/stats")
	}
	return nil
}
