package catalog

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

// FollowerChannels returns the channels of a cluster: on orders its director speaks to the nodes, on replies they answer, and on data
// the controller sends the state of frames to the other nodes.
func FollowerChannels(director string) (orders, replies, data string) {
	return director + "/orders", director + "/replies", director + "/data"
}

// refineDirector gives a director its channels, and lets one with a number of frames leave.
func refineDirector(in *Instance) error {
	rate, fraction := Get[Fraction](in, "frame_rate"), Get[int64](in, "fraction")
	if uint64(rate.Den)*uint64(fraction) > math.MaxUint32 {
		return ParamErrors{{Model: "director", Param: "frame_rate", Wrong: fmt.Sprintf("is %d/%d, and its fraction %d", rate.Num, rate.Den, fraction),
			Remedy: "write a rate whose lower number is smaller"}}
	}
	if kind, kinds := Get[string](in, "packing"), []string{"none", "zstd", "delta", "changes"}; !slices.Contains(kinds, kind) {
		return ParamErrors{{Model: "director", Param: "packing", Wrong: "is " + show(kind), Remedy: "write one of " + strings.Join(kinds, ", ")}}
	}
	for _, name := range []string{"reset", "streams_changed"} {
		if list, _ := Find[[]uint64](in, name); !slices.IsSorted(list) {
			return ParamErrors{{Model: "director", Param: name, Wrong: "is not in order", Remedy: "write the numbers of the frames in order"}}
		}
	}
	if _, ok := Find[int64](in, "frames"); ok {
		in.Ports.Ending = Leaves
	}
	orders, replies, _ := FollowerChannels(in.Name)
	if wholes, ok := Find[string](in, "wholes"); ok {
		in.Ports.Publications = append(in.Ports.Publications, wholes)
	}
	in.Ports.Publications = append(in.Ports.Publications, orders)
	obey(in)
	in.Ports.Subscriptions = append(in.Ports.Subscriptions, regexp.QuoteMeta(replies))
	return nil
}

// obey subscribes to the channel of commands.
func obey(in *Instance) {
	if commands, ok := Find[string](in, "commands"); ok {
		in.Ports.Subscriptions = append(in.Ports.Subscriptions, regexp.QuoteMeta(commands))
	}
}

// refineRenderNode gives a node its channels: a follower sends no data, and who is the controller from the start receives none.
func refineRenderNode(in *Instance) error {
	role, fail := Get[string](in, "role"), Get[string](in, "fail")
	for _, w := range []struct {
		param, value string
		may          []string
	}{{"role", role, []string{"controller", "follower", "understudy"}}, {"fail", fail, []string{"before", "half-way", "after", "skip"}}} {
		if !slices.Contains(w.may, w.value) {
			return ParamErrors{{Model: "render-node", Param: w.param, Wrong: "is " + show(w.value), Remedy: "write one of " + strings.Join(w.may, ", ")}}
		}
	}
	if size, bound := Get[int64](in, "state_bytes"), Get[int64](in, "max_bytes"); size > bound {
		return ParamErrors{{Model: "render-node", Param: "state_bytes", Wrong: fmt.Sprintf("is %d, and max_bytes is %d", size, bound),
			Remedy: "write less, or raise max_bytes of all nodes"}}
	}
	if parts, ok := Find[int64](in, "parts"); ok && Get[int64](in, "part") >= parts {
		return ParamErrors{{Model: "render-node", Param: "part", Wrong: fmt.Sprintf("is %d of %d parts", Get[int64](in, "part"), parts),
			Remedy: fmt.Sprintf("write 0 to %d", parts-1)}}
	}
	if _, draws := Find[int64](in, "parts"); draws {
		if _, shows := Find[string](in, "world"); shows {
			return ParamErrors{{Model: "render-node", Param: "world", Wrong: "is written, and parts too", Remedy: "write one of them: a node shows a world, or the scene of the demo"}}
		}
	}
	if order := Get[int64](in, "order"); order != 0 && role != "understudy" {
		in.Doubts = append(in.Doubts, &ParamError{Model: "render-node", Param: "order", Wrong: fmt.Sprintf("is %d, and counts for nothing, as the role is %s", order, role),
			Remedy: "write role: understudy, or leave order out"})
	}
	orders, replies, data := FollowerChannels(Get[string](in, "director"))
	obey(in)
	in.Ports.Publications = append(in.Ports.Publications, replies)
	if role != "follower" {
		in.Ports.Publications = append(in.Ports.Publications, data)
	}
	in.Ports.Subscriptions = append(in.Ports.Subscriptions, regexp.QuoteMeta(orders))
	if world, shows := Find[string](in, "world"); shows && role != "follower" {
		in.Ports.Subscriptions = append(in.Ports.Subscriptions, regexp.QuoteMeta(StateChannel(world)))
	}
	if role != "controller" {
		in.Ports.Subscriptions = append(in.Ports.Subscriptions, regexp.QuoteMeta(data))
	}
	return nil
}
