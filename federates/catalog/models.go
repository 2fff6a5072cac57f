package catalog

import (
	"fmt"
	"math"
	"slices"

	"metasim/internal/suggest"
	"metasim/metasim"
)

// models is the table of the built-in models, in order of name. A model that is added here is known to scenarios,
// `metasim schema`, `metasim validate` and `metasim client`; package federates makes it run.
var models = []Spec{
	{
		Name: "bridge",
		Doc:  "joins an LCM network to a run in real time: chosen channels in, chosen channels out",
		Params: []Param{
			{Name: "url", Type: Network, Required: true, Doc: "the network"},
			{Name: "in", Type: Channels, Max: new(float64(maxBridged)),
				Doc: "channels that it takes in: what comes on them is published here. Without it: none"},
			{Name: "out", Type: Patterns,
				Doc: "what it puts out, as it is delivered: each a channel name, or a regular expression that matches " +
					"the whole name. Without it: nothing"},
			{Name: "period", Type: Duration, Default: "10ms", Min: new(float64(100 * metasim.Microsecond)),
				Doc: "in simulated time: what came in is published at period, 2 period, ..., and never in between"},
			{Name: "serve", Type: Bool, Default: false,
				Doc: "it is the server of a tcpq network, and does not look for one"},
		},
		RealTime: true, Ending: Endless, refine: refineBridge,
	},
	{
		Name: "cartpole-controller",
		Doc:  "pushes the cart so that the pole stands, by linear state feedback",
		Params: []Param{
			{Name: "in", Type: Pattern, Default: "CARTPOLE_STATE", Doc: "where estimates come from"},
			{Name: "out", Type: Channel, Default: "CARTPOLE_FORCE", Doc: "where it publishes the force"},
			{Name: "period", Type: Duration, Default: "10ms", Min: new(1e3), Max: new(1e9),
				Doc: "from one force to the next"},
			{Name: "limit", Type: Float, Default: 20.0, Min: new(0.0), Max: new(1e6),
				Doc: "the greatest force, in newtons"},
		},
		Ending: Endless,
	},
	{
		Name: "cartpole-estimator",
		Doc:  "estimates the cart-pole's state from late, lost and noisy measurements",
		Params: []Param{
			{Name: "in", Type: Pattern, Default: "CARTPOLE_SENSORS", Doc: "where measurements come from"},
			{Name: "out", Type: Channel, Default: "CARTPOLE_STATE", Doc: "where it publishes estimates"},
		},
		Ending: Reacts, Forwards: true,
	},
	{
		Name: "cartpole-plant",
		Doc:  "a cart with a pole on it, integrated in fixed steps; measured with noise, pushed by a force",
		Params: []Param{
			{Name: "out", Type: Channel, Default: "CARTPOLE_SENSORS", Doc: "where it publishes measurements"},
			{Name: "in", Type: Pattern, Default: "CARTPOLE_FORCE", Doc: "where the force comes from"},
			{Name: "period", Type: Duration, Default: "1ms", Min: new(1e3), Max: new(1e7),
				Doc: "the step of the integration"},
			{Name: "sample", Type: Duration, Default: "5ms", Min: new(1e3), Max: new(1e9),
				Doc: "from one measurement to the next; a multiple of period"},
			{Name: "angle", Type: Float, Default: 5.0, Min: new(-80.0), Max: new(80.0),
				Doc: "tilt of the pole at the start, in degrees"},
			{Name: "noise", Type: Float, Default: 1.0, Min: new(0.0), Max: new(1000.0),
				Doc: "scales the sensors' noise: 1 is 1 mm and 0.1 degrees of standard deviation"},
		},
		Ending: Endless, refine: refinePlant,
	},
	{
		Name: "director",
		Doc:  "is the clock of a cluster: asks its render nodes for frames, and decides who is the controller",
		Params: []Param{
			{Name: "frame_rate", Type: Rate, Default: 60, Min: new(1e-3), Max: new(1e6), Doc: "frames in a second"},
			{Name: "fraction", Type: Int, Default: 1, Min: new(1.0), Max: new(60.0),
				Doc: "its layer shows one frame of so many: 2 is half the rate, 3 a third"},
			{Name: "frames", Type: Int, Min: new(1.0), Doc: "how many frames; then all leave. Without it: until the end of the run"},
			{Name: "sync", Type: Bool, Default: true,
				Doc: "engine synchronisation: the controller sends its state in each frame, and the others show it"},
			{Name: "bounded", Type: Int, Min: new(1.0), Max: new(1e3),
				Doc: "how many frames may be on their way at a node; one that comes then is discarded, for all nodes. Without it: none is " +
					"discarded, and all wait for the slowest"},
			{Name: "patience", Type: Duration, Default: "1s", Min: new(1.0),
				Doc: "in simulated time: a controller that has sent nothing for so long after it was asked has failed, and so has a node whose " +
					"frame has not come back for so long"},
			{Name: "nodes", Type: Words, Doc: "the nodes that it waits for before the first frame. Without it: those that say hello first"},
			{Name: "reset", Type: Ints, Doc: "frames at which the scene begins again, in order"},
			{Name: "streams_changed", Type: Ints, Doc: "frames before which the nodes are told that the streams have changed, in order"},
			{Name: "inputs", Type: Patterns,
				Doc: "channels whose messages are given to all nodes, all in the same frame: events of devices and networks. Without it: none"},
			{Name: "scene", Type: Int, Default: 0, Min: new(0.0), Max: new(float64(math.MaxUint32)), Doc: "the scene, told to the nodes in each frame"},
			{Name: "streams", Type: Streams, Min: new(1.0),
				Doc: "what the nodes show: for each a camera and a rectangle of its picture, told to the nodes in their frames. Without it: they show what they like"},
			{Name: "pictures_every", Type: Int, Default: 1, Min: new(1.0), Max: new(1e6), Doc: "the nodes are asked for pictures of the streams in one frame of so many"},
			{Name: "wholes", Type: Word, Doc: "the channel where frames are published that have come back from all nodes, put together. Without it: nowhere"},
			{Name: "packing", Type: Word, Default: "none",
				Doc: "how the state is made smaller on its way: zstd; delta, which is zstd of what has changed since the frame before; changes, which is what has changed, without zstd; or none"},
			{Name: "commands", Type: Word, Doc: `a channel where {"sync": false} turns synchronisation off from the next frame on, and true on, and {"quit": true} ends the cluster. Without it: none`},
		},
		Ending: Endless, refine: refineDirector,
	},
	{
		Name: "echo",
		Doc:  "publishes each payload again, at the instant at which it was received",
		Params: []Param{
			{Name: "in", Type: Pattern, Required: true, Doc: "what it receives"},
			{Name: "out", Type: Channel, Required: true, Doc: "where it publishes"},
		},
		Ending: Reacts, Forwards: true,
	},
	homeserverModel,
	{
		Name: "lcmlog",
		Doc:  "publishes the events of an LCM event log at their recorded times, counted from the first or as they are",
		Params: []Param{
			{Name: "file", Type: File, Required: true, Doc: "the log"},
			{Name: "speed", Type: Float, Default: 1.0, Min: new(1e-6), Max: new(1e6),
				Doc: "recorded times are divided by it"},
			{Name: "start", Type: Start, Default: "first",
				Doc: "when the first event is published: first is 0s; recorded takes the log's times for simulated time, " +
					"as metasim log --lcm writes them; or a duration"},
		},
		Ending: Leaves, refine: refineLog,
	},
	{
		Name: "lockstep-runtime",
		Doc:  "runs one system of a world in lock step with it, and keeps a copy of its state",
		Params: []Param{
			{Name: "world", Type: Word, Default: "world", Doc: "the client that runs the world"},
			{Name: "system", Type: Word, Doc: "the system, as the world calls it. Without it: the name of the client"},
			{Name: "config", Type: File, Doc: "the configuration of the runtime, as Gazebo's prototype has it: the plugin and its parameters. Without it: what the world says"},
			{Name: "stats", Type: Bool, Default: false,
				Doc: "publish its plugin, state, calls and update rate as JSON on WORLD/SYSTEM/stats: when the state changes, and once in a second of simulated time"},
			{Name: "topics", Type: Channels, Doc: "what the system may publish, as the pictures of cameras on their topics (PNG). Without it: nothing"},
		},
		Ending: Reacts, Forwards: true, refine: refineRuntime,
	},
	{
		Name: "phold",
		Doc:  "PHOLD: logical processes that answer each event with one event, here or elsewhere",
		Params: []Param{
			{Name: "lps", Type: Int, Required: true, Min: new(1.0), Max: new(float64(1 << 24)),
				Doc: "logical processes in all, spread in blocks over the clients of the entry"},
			{Name: "population", Type: Int, Required: true, Min: new(1.0), Max: new(float64(1 << 24)),
				Doc: "events that each process starts with"},
			{Name: "remote", Type: Float, Required: true, Min: new(0.0), Max: new(1.0),
				Doc: "the share of events that go to a process drawn from all"},
			{Name: "mean", Type: Duration, Required: true, Min: new(1.0),
				Doc: "mean time from an event to the one it causes"},
			{Name: "lookahead", Type: Duration, Required: true, Min: new(1.0),
				Doc: "the least such time, at most mean; also the delay of the links among these clients"},
			{Name: "grain", Type: Duration, Default: "0s", Min: new(0.0),
				Doc: "wall-clock time that computing an event takes"},
			{Name: "parts", Type: Int, Default: 1, Min: new(1.0), Max: new(1024.0),
				Doc: "over how many entries the processes are spread, each with as many clients as the others: entries of several scenarios inside one"},
			{Name: "part", Type: Int, Default: 0, Min: new(0.0), Max: new(1023.0),
				Doc: "which of them this one is, from 0"},
			{Name: "channel", Type: Word, Doc: "how the names of the channels begin, before -0, -1, ...; without it the name of the entry"},
		},
		Ending: Endless, refine: refinePHOLD,
	},
	{
		Name: "ping",
		Doc:  "publishes a counter, and the next one at each answer, until it has had all its answers",
		Params: []Param{
			{Name: "out", Type: Channel, Required: true, Doc: "where it publishes"},
			{Name: "in", Type: Pattern, Required: true, Doc: "where the answers come"},
			{Name: "rounds", Type: Int, Required: true, Min: new(1.0),
				Doc: "how many answers; at the last one it leaves"},
			payloadSize,
		},
		Ending: Leaves,
	},
	{
		Name: "render-node",
		Doc:  "shows frames: as the controller it computes the state of each and sends it, as a follower it shows what was sent",
		Params: []Param{
			{Name: "role", Type: Word, Default: "follower", Doc: "controller, follower or understudy: a follower that becomes the controller when that fails"},
			{Name: "order", Type: Int, Default: 0, Doc: "among understudies: the least is the next controller"},
			{Name: "director", Type: Word, Default: "director", Doc: "the client that is the clock of its cluster"},
			{Name: "state_bytes", Type: Int, Default: 64 << 10, Min: new(0.0), Max: new(float64(1 << 30)), Doc: "size of the state of a frame"},
			{Name: "max_bytes", Type: Int, Default: 256 << 20, Min: new(0.0), Max: new(float64(1 << 30)), Doc: "the bound on what is sent or taken in a frame"},
			{Name: "load", Type: Duration, Default: "0s", Min: new(0.0), Doc: "in simulated time: how long a frame takes"},
			{Name: "parts", Type: Int, Min: new(1.0), Max: new(64.0),
				Doc: "draws a scene of particles and springs, whose picture so many nodes make together. Without it: none"},
			{Name: "part", Type: Int, Default: 0, Min: new(0.0), Max: new(63.0), Doc: "which part of the picture is its own"},
			{Name: "fail_at", Type: Int, Min: new(0.0),
				Doc: "the frame in which it fails: it leaves without a word to the others. Without it: none"},
			{Name: "fail", Type: Word, Default: "before",
				Doc: "how: before it sends, half-way, or after; or skip, to go on as the controller without sending in that frame"},
			{Name: "world", Type: Word,
				Doc: "shows the states of this client, a world with states: as the controller it sends for each frame the one at its time. Without it: a state of its own"},
			{Name: "commands", Type: Word,
				Doc: `a channel where {"node": NAME, "load": "50ms"} gives the node of that name another load, and {"node": NAME, "fail": true} lets it fail. Without it: none`},
		},
		Ending: Leaves, refine: refineRenderNode,
	},
	{
		Name: "ring",
		Doc:  "passes each message on, unchanged, at the instant at which it was received",
		Params: []Param{
			{Name: "in", Type: Pattern, Required: true, Doc: "what it receives"},
			{Name: "out", Type: Channel, Required: true, Doc: "where it publishes"},
			{Name: "first", Type: Bool, Default: false,
				Doc: "whether it starts the ring with a message of its own at the start"},
			payloadSize,
		},
		Ending: Reacts, Forwards: true, refine: refineRing,
	},
	simserverModel,
	{
		Name: "sink",
		Doc:  "receives and counts",
		Params: []Param{
			{Name: "channels", Type: Patterns, Required: true, Min: new(1.0),
				Doc: "what it receives: each a channel name, or a regular expression that matches the whole name"},
		},
		Ending: Reacts,
	},
	{
		Name: "source",
		Doc:  "publishes a counter, or a word, at start, start + period, start + 2 period, ...",
		Params: []Param{
			{Name: "channel", Type: Channel, Required: true, Doc: "where it publishes"},
			{Name: "period", Type: Duration, Required: true, Min: new(1.0), Doc: "from one message to the next"},
			{Name: "start", Type: Duration, Default: "0s", Min: new(0.0), Doc: "when the first message is sent"},
			{Name: "count", Type: Int, Min: new(1.0),
				Doc: "how many messages; then it leaves. Without it: until the end of the run"},
			{Name: "word", Type: Word,
				Doc: "what each payload is, as the name of a model that is to be a performer. Without it: a counter of size bytes"},
			payloadSize,
		},
		Ending: Endless, refine: refineSource,
	},
	storeModel,
	{
		Name: "world",
		Doc:  "runs a world of an SDF file: its bodies and its systems, step by step",
		Params: []Param{
			{Name: "file", Type: File, Required: true, Doc: "the world, in SDF"},
			{Name: "world", Type: Word, Doc: "which world of the file. Without it: the only one"},
			{Name: "remote", Type: Words, Doc: "systems that run in clients of the model lockstep-runtime, by name. Without it: none"},
			{Name: "iterations", Type: Int, Min: new(1.0), Doc: "how many steps; then it leaves. Without it: until the end of the run"},
			{Name: "hashes", Type: Bool, Default: false,
				Doc: "publish the SHA-256 of the state after each step on NAME/hash, where NAME is the client: iteration (u64, little-endian), 32 bytes"},
			{Name: "states", Type: Bool, Default: false,
				Doc: "publish the state on WORLD/state, at the start and after each step: time and step (int64, little-endian, ns), then the state as changes from nothing"},
			{Name: "resets", Type: Bool, Default: false,
				Doc: "subscribe to NAME/reset: a message on it, whatever its payload, takes the world back to its start before the next step"},
			{Name: "map", Type: Duration, Default: "0s", Min: new(0.0),
				Doc: "publish what the world looks like from above on NAME/map, after the first step and then once in each such time: JSON with levels, positions and who moves what; 0s: never"},
			{Name: "policy", Type: Word, Default: "none",
				Doc: "when the levels of the world are loaded: gz, when a performer touches the box of one; document, when it touches the buffer; none: all models are there all the time"},
			{Name: "run_ahead", Type: Duration, Default: "0s", Min: new(0.0),
				Doc: "how much simulated time its secondaries may go ahead of the world, where their models meet nobody else's and nothing else changes them; the states are the same"},
			{Name: "secondaries", Type: Words, Max: new(64.0),
				Doc: "clients of the model world-secondary, which move its models, each those in its levels; the states are the same. Without it: the world moves them itself"},
			{Name: "auto", Type: Bool, Default: false,
				Doc: "let only as many of its secondaries take part at a time as performers need, the first ones: one for each level that performers are in. The states are the same"},
			{Name: "meter", Type: Word,
				Doc: "a client of the model world-meter: levels and models move between secondaries by what these take, as it measures. The states are the same. Without it: they do not move"},
			{Name: "set_performer", Type: Bool, Default: false,
				Doc: "subscribe to NAME/level/set_performer: the model that a message names is a performer from the next step on. What came of it is published as JSON on " +
					"NAME/level/set_performer/reply"},
			{Name: "timeout", Type: Duration, Min: new(1e6),
				Doc: "wall-clock time that its runtimes have to reply to a call; then the run ends. Without it: any. The time of a pause counts"},
			{Name: "degrade", Type: Words,
				Doc: "systems of remote that it goes on without where their client is lost, with on_exit: detach. Without it: none, and the run ends"},
			{Name: "topics", Type: Channels, Doc: "what its systems may publish, as the pictures of cameras on their topics (PNG). Without it: nothing"},
		},
		Ending: Endless, refine: refineWorld,
	},
	{
		Name: "world-meter",
		Doc:  "tells a world what its secondaries take, in processor time: eight bytes for each (u64, little-endian, ns), of the time since it was asked last",
		Params: []Param{
			{Name: "world", Type: Word, Default: "world", Doc: "the client that runs the world, which names this client as its meter"},
			{Name: "secondaries", Type: Words, Required: true, Min: new(1.0), Max: new(64.0), Doc: "those of the world, in its order"},
		},
		Ending: Reacts, Forwards: true, Measures: true, refine: refineMeter,
	},
	{
		Name: "world-secondary",
		Doc:  "moves a part of the models of a world, as the world orders step by step",
		Params: []Param{
			{Name: "world", Type: Word, Default: "world", Doc: "the client that runs the world, which names this client among its secondaries"},
		},
		Ending: Reacts, Forwards: true, refine: refineSecondary,
	},
}

// payloadSize is the size of counted payloads, the same for every model that makes them. The bound is wire.MaxPayload.
var payloadSize = Param{Name: "size", Type: Int, Default: 8, Min: new(0.0), Max: new(float64(64<<20 - 64<<10)),
	Doc: "bytes of a payload: an 8-byte little-endian counter from 0, then zeros; a smaller size truncates"}

// Models describes all built-in models, in order of name.
func Models() []Spec { return slices.Clone(models) }

// Lookup returns the model of that name, or an error that proposes another.
func Lookup(name string) (Spec, error) {
	names := make([]string, len(models))
	for i, s := range models {
		if s.Name == name {
			return s, nil
		}
		names[i] = s.Name
	}
	return Spec{}, fmt.Errorf("there is no model %q; %s", name, suggest.Word(name, names))
}

// Make checks the parameters of one client. It fails where there is no such model, and with ParamErrors that name everything
// that is wrong with the parameters. The model lcmlog reads its file.
func Make(model string, with map[string]any, env Env) (*Instance, error) {
	s, err := Lookup(model)
	if err != nil {
		return nil, err
	}
	params, err := s.decode(with)
	if err != nil {
		return nil, err
	}
	env.Count = max(env.Count, 1)
	in := &Instance{Env: env, params: params, Ports: Ports{Ending: s.Ending, Forwards: s.Forwards}}
	for _, p := range s.Params {
		switch p.Type {
		case Channel:
			in.Ports.Publications = append(in.Ports.Publications, Get[string](in, p.Name))
		case Channels:
			names, _ := Find[[]string](in, p.Name) // absent is none
			in.Ports.Publications = append(in.Ports.Publications, names...)
		case Pattern:
			in.Ports.Subscriptions = append(in.Ports.Subscriptions, Get[string](in, p.Name))
		case Patterns:
			patterns, _ := Find[[]string](in, p.Name)
			in.Ports.Subscriptions = append(in.Ports.Subscriptions, patterns...)
		}
	}
	if s.refine != nil {
		if err := s.refine(in); err != nil {
			return nil, err
		}
	}
	return in, nil
}

// Check reads the parameters as a scenario wrote them (strings, numbers of any Go type, json.Number, booleans, lists) and
// returns everything that is wrong with each of them as ParamErrors, or nil. It opens no file.
func (s Spec) Check(with map[string]any) error {
	_, err := s.decode(with)
	return err
}
