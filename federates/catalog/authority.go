package catalog

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"metasim/metasim"
)

// The models of package federates/authority.

var homeserverModel = Spec{
	Name: "homeserver",
	Doc:  "keeps who owns which entity, and decides by the rule of its master who owns it next",
	Params: []Param{
		{Name: "neighbours", Type: Words, Doc: "the servers to which it sends directly. Without it: only those of path"},
		{Name: "path", Type: Words, Doc: "the homeservers on the way to all other servers, the next one first. Without it: there are no others"},
		{Name: "entities", Type: Words, Doc: "what it keeps. Without it: nothing, and it passes messages on"},
		{Name: "owner", Type: Word, Doc: "the simulation server that owns the entities at the beginning"},
		{Name: "of", Type: Words, Doc: "the simulation servers whose balls it keeps. Without it: none"},
		{Name: "balls", Type: Int, Min: new(1.0), Max: new(1e6), Doc: "how many balls each of them begins with"},
		{Name: "master", Type: Word, Doc: "the simulation server that answers for the entities under the rule ask. Without it: nobody"},
		{Name: "rule", Type: Word, Default: "allow", Doc: "deny, ask or allow: what happens to a request that is not the master's"},
		{Name: "patience", Type: Duration, Default: "1s", Min: new(1.0), Doc: "how long it waits for the master's answer; with a store, until its next chores after that"},
		{Name: "store", Type: Word, Doc: "a client of the model store, in which it keeps its entities, together with other homeservers of its instance. Without it: it keeps them alone"},
		{Name: "instance", Type: Word, Default: "world", Doc: "with a store: the logical instance of the homeserver. One of another instance is refused"},
		{Name: "lease", Type: Duration, Default: "1s", Min: new(1e6), Doc: "with a store: for how long it may be silent until another one leads; it does its chores three times in that"},
		{Name: "retry", Type: Duration, Default: "100ms", Min: new(1.0), Doc: "with a store: how long it waits until it asks the store again, as links may lose messages"},
		{Name: "dies", Type: Duration, Min: new(0.0), Doc: "with a store: when it forgets all that is not in the store, also between writing and saying. Without it: never"},
		{Name: "back", Type: Duration, Min: new(0.0), Doc: "when it begins again after that. Without it: never"},
	},
	Ending: Reacts, refine: refineHomeserver,
}

var simserverModel = Spec{
	Name: "simserver",
	Doc:  "owns entities, computes their states, and hands them over to other servers",
	Params: []Param{
		{Name: "home", Type: Word, Doc: "its homeserver. Without it: it hands over without asking anybody"},
		{Name: "neighbours", Type: Words, Doc: "the simulation servers to which it sends; in an entry with a count all of them, with itself. Without it: none"},
		{Name: "entities", Type: Words, Doc: "what it owns at the beginning. Without it: nothing"},
		{Name: "give", Type: Word, Doc: "the entity that it gives away. Without it: none"},
		{Name: "to", Type: Word, Doc: "to whom it gives"},
		{Name: "take", Type: Word, Doc: "the entity that it takes. Without it: none"},
		{Name: "at", Type: Duration, Default: "0s", Min: new(0.0), Doc: "when it gives or takes"},
		{Name: "step", Type: Duration, Default: "1ms", Min: new(1.0), Doc: "the step of the entities"},
		{Name: "retry", Type: Duration, Default: "0s", Min: new(0.0), Doc: "how long it waits before it says again what may be lost; 0s where links lose nothing"},
		{Name: "answers", Type: Word, Default: "never", Doc: "yes, no or never: what it says as the master of an entity"},
		{Name: "rule", Type: Word, Default: "allow", Doc: "deny, ask or allow: what binds it where it hands over without a homeserver, and another server is the master"},
		{Name: "asks", Type: Word, Doc: "the server that is the master of what it hands over without a homeserver. Without it: this server, which no rule binds"},
		{Name: "patience", Type: Duration, Default: "1s", Min: new(1.0), Doc: "how long it waits for the answer of that master"},
		{Name: "balls", Type: Int, Min: new(0.0), Max: new(1e6), Doc: "how many balls it begins with, NAME-000, NAME-001, ...: they move in a square that it computes together with its neighbours. Without it: its entities do not move"},
		{Name: "resting", Type: Int, Default: 0, Min: new(0.0), Doc: "how many of them rest until another touches them, and come to rest again"},
		{Name: "side", Type: Int, Default: 100, Min: new(1.0), Max: new(1e5), Doc: "the side of the square, in metres; all servers have the same"},
		{Name: "tick", Type: Duration, Default: "50ms", Min: new(1.0), Doc: "how often it moves them and tells others of them; a multiple of step"},
		{Name: "sees", Type: Int, Default: 25, Min: new(1.0), Max: new(500.0), Doc: "how far it sees each tick, in metres from the middle of its field; twice as far each fourth tick, four times as far each twentieth"},
		{Name: "reach", Type: Int, Default: 500, Min: new(0.0), Max: new(1e6), Doc: "from ball to ball where they touch, in millimetres; 0: they never do"},
		{Name: "window", Type: Int, Default: 16384, Min: new(1.0), Max: new(1e9), Doc: "the bytes of updates that may be on the way to one server, at least 1200; the same for all servers"},
		{Name: "reads", Type: Int, Default: 0, Min: new(0.0), Doc: "the bytes of updates that it reads in a tick; 0: all"},
		{Name: "balance", Type: Duration, Default: "0s", Min: new(0.0), Doc: "from one comparison of work to the next, after which who has more than the others gives balls away; 0s: never"},
		{Name: "meter", Type: Word, Doc: "with balance: the world of a client of the model world-meter, whose secondaries are all servers of this world, in the order of their names. Work is the processor time that it measures then. Without it: the steps of balls that were computed"},
		{Name: "full", Type: Int, Min: new(1.0), Doc: "with balance: the work of a round for one server, in steps of balls or, with a meter, in ns of processor time. Server k, in the order of names and from 0, has balls while all have more than k times that. Without it: always"},
		{Name: "joins", Type: Duration, Default: "0s", Min: new(0.0), Doc: "from when on it takes part"},
		{Name: "leaves", Type: Duration, Min: new(0.0), Doc: "when it gives all its balls away; it needs balance. Without it: never"},
		{Name: "shows", Type: Word, Doc: "where it publishes ten times a second what it owns. Without it: nowhere"},
	},
	Ending: Reacts, refine: refineSimserver,
}

var storeModel = Spec{
	Name: "store",
	Doc:  "keeps what homeservers write down, for several of them together, as an etcd cluster would",
	Params: []Param{
		{Name: "members", Type: Words, Required: true, Min: new(1.0), Doc: "the homeservers that use it"},
	},
	Ending: Reacts, refine: refineStore,
}

// AuthorityChannels returns the channels on which a server hears: a homeserver and a simulation server of transfers, and a simulation server with balls of
// updates of entities.
func AuthorityChannels(server string) (authority, updates string) {
	return server + "/authority", server + "/updates"
}

// authorityNeighbours returns to whom a homeserver or a simulation server sends, in the order of its publications.
func authorityNeighbours(in *Instance) []string {
	var all []string
	for _, param := range []string{"home", "neighbours", "path", "asks"} {
		if name, ok := in.params[param].(string); ok && !slices.Contains(all, name) {
			all = append(all, name)
		}
		list, _ := in.params[param].([]string)
		if param == "path" {
			list = list[:min(1, len(list))]
		}
		for _, name := range list {
			if !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

// connectServer gives a server its channels.
func connectServer(in *Instance) {
	for _, name := range authorityNeighbours(in) {
		authority, _ := AuthorityChannels(name)
		in.Ports.Publications = append(in.Ports.Publications, authority)
	}
	authority, _ := AuthorityChannels(in.Name)
	in.Ports.Subscriptions = append(in.Ports.Subscriptions, regexp.QuoteMeta(authority))
}

// connectBalls gives a simulation server whose entities move the channels of their updates.
func connectBalls(in *Instance) error {
	wrong := func(param, why, remedy string) error {
		return ParamErrors{{Model: "simserver", Param: param, Wrong: why, Remedy: remedy}}
	}
	step, tick := Get[metasim.Time](in, "step"), Get[metasim.Time](in, "tick")
	if tick%step != 0 {
		return wrong("tick", fmt.Sprintf("is %v, and step %v", tick, step), "write a multiple of step")
	}
	if balance := Get[metasim.Time](in, "balance"); balance > 0 && balance < 4*tick {
		return wrong("balance", "is "+balance.String(), fmt.Sprintf("write 0s, or at least four ticks, %v", 4*tick))
	}
	if window := Get[int64](in, "window"); window < 1200 {
		return wrong("window", "is "+show(window), "write at least 1200, the bytes of a packet")
	}
	if Get[int64](in, "resting") > Get[int64](in, "balls") {
		return wrong("resting", "is more than balls", "write at most as many")
	}
	in.Ports.Ending = Endless
	if _, some := Find[int64](in, "full"); some && Get[metasim.Time](in, "balance") == 0 {
		return wrong("full", "is written, and balance is 0s", "write how often work is compared, balance: 1s, or leave it out")
	}
	if meter, measured := Find[string](in, "meter"); measured {
		if Get[metasim.Time](in, "balance") == 0 {
			return wrong("meter", "is written, and balance is 0s", "write how often work is compared, balance: 1s, or leave the meter out")
		}
		ask, cost := MeterChannels(meter)
		in.Ports.Publications = append(in.Ports.Publications, ask)
		in.Ports.Subscriptions = append(in.Ports.Subscriptions, regexp.QuoteMeta(cost))
	}
	neighbours, _ := Find[[]string](in, "neighbours")
	if slices.Contains(neighbours, in.Name) {
		return wrong("neighbours", "has the server itself", "name the others")
	}
	for _, name := range neighbours {
		_, updates := AuthorityChannels(name)
		in.Ports.Publications = append(in.Ports.Publications, updates)
	}
	if shows, ok := Find[string](in, "shows"); ok {
		in.Ports.Publications = append(in.Ports.Publications, shows)
	}
	_, updates := AuthorityChannels(in.Name)
	in.Ports.Subscriptions = append(in.Ports.Subscriptions, regexp.QuoteMeta(updates))
	return nil
}

// oneOf checks a parameter that is one of a few words.
func oneOf(in *Instance, model, param string, may ...string) error {
	if value := Get[string](in, param); !slices.Contains(may, value) {
		return ParamErrors{{Model: model, Param: param, Wrong: "is " + show(value), Remedy: fmt.Sprintf("write one of %v", may)}}
	}
	return nil
}

func refineHomeserver(in *Instance) error {
	if err := oneOf(in, "homeserver", "rule", "deny", "ask", "allow"); err != nil {
		return err
	}
	_, of := Find[[]string](in, "of")
	if _, balls := Find[int64](in, "balls"); of && !balls {
		return ParamErrors{{Model: "homeserver", Param: "balls", Wrong: "is missing, and of is written", Remedy: "write both, or none"}}
	}
	entities, _ := Find[[]string](in, "entities")
	if _, owned := Find[string](in, "owner"); len(entities) > 0 && !owned {
		return ParamErrors{{Model: "homeserver", Param: "owner", Wrong: "is missing, and there are entities", Remedy: "name the simulation server that owns them at the beginning"}}
	}
	owner, _ := Find[string](in, "owner")
	for _, entity := range entities {
		in.Owns = append(in.Owns, Owned{entity, owner})
	}
	connectServer(in)
	dies, mortal := Find[metasim.Time](in, "dies")
	back, returns := Find[metasim.Time](in, "back")
	store, kept := Find[string](in, "store")
	switch {
	case (mortal || returns) && !kept:
		return ParamErrors{{Model: "homeserver", Param: "store", Wrong: "is missing, and dies or back is written", Remedy: "name the client that is its store: what it has elsewhere is gone"}}
	case returns && (!mortal || back <= dies):
		return ParamErrors{{Model: "homeserver", Param: "back", Wrong: "is " + back.String() + ", and it does not die before", Remedy: "write when it dies, and a later time"}}
	}
	if kept {
		asked, answered := StoreChannels(store, in.Name)
		in.Ports.Publications = append(in.Ports.Publications, asked)
		in.Ports.Subscriptions = append(in.Ports.Subscriptions, regexp.QuoteMeta(answered))
		in.Ports.Ending = Endless
	}
	return nil
}

// StoreChannels returns where a member asks its store, and where it hears the answers.
func StoreChannels(store, member string) (asked, answered string) {
	return store + "/asked", member + "/answered"
}

func refineStore(in *Instance) error {
	asked, _ := StoreChannels(in.Name, "")
	in.Ports.Subscriptions = []string{regexp.QuoteMeta(asked)}
	for _, member := range Get[[]string](in, "members") {
		_, answered := StoreChannels("", member)
		in.Ports.Publications = append(in.Ports.Publications, answered)
	}
	return nil
}

func refineSimserver(in *Instance) error {
	if err := errors.Join(oneOf(in, "simserver", "answers", "yes", "no", "never"), oneOf(in, "simserver", "rule", "deny", "ask", "allow")); err != nil {
		return err
	}
	_, gives := Find[string](in, "give")
	_, takes := Find[string](in, "take")
	_, to := Find[string](in, "to")
	_, home := Find[string](in, "home")
	switch {
	case gives && takes:
		return ParamErrors{{Model: "simserver", Param: "take", Wrong: "is written, and give too", Remedy: "write one of them"}}
	case gives != to:
		return ParamErrors{{Model: "simserver", Param: "to", Wrong: "and give belong together", Remedy: "write both, or none"}}
	case takes && !home:
		return ParamErrors{{Model: "simserver", Param: "take", Wrong: "has nobody to ask", Remedy: "name the homeserver in home"}}
	}
	if neighbours, ok := Find[[]string](in, "neighbours"); ok && in.Count > 1 {
		in.params["neighbours"] = slices.DeleteFunc(slices.Clone(neighbours), func(name string) bool { return name == in.Name })
	}
	entities, _ := Find[[]string](in, "entities")
	for _, entity := range entities {
		in.Owns = append(in.Owns, Owned{entity, in.Name})
	}
	connectServer(in)
	if _, balls := Find[int64](in, "balls"); balls {
		return connectBalls(in)
	}
	return nil
}
