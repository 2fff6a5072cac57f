package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"metasim/delay"
	"metasim/federates/catalog"
	"metasim/federates/levels"
	"metasim/federates/lockstep"
	"metasim/federates/sdf"
	"metasim/internal/problem"
	"metasim/metasim"
	"metasim/run"
	"metasim/scenarios"
)

// worldFlags are the flags of metasim world run.
type worldFlags struct {
	runtimes, hashes, camera, world, until, rate, out, seed, timeout, policy, secondaries, ahead, balance, digest string
	iterations                                                                                                    uint64
	resets                                                                                                        []int
	report, json, animation, degrade                                                                              bool
	live                                                                                                          liveFlags
	role                                                                                                          roleFlags
	maps                                                                                                          mapFlags
	startsWith                                                                                                    int  // no flag: the place of the secondary that is started first
	compares                                                                                                      bool // no flag: the run is compared with others, so secondaries must have something to do
}

// scenario writes the scenario that runs the worlds of a document.
func (f *worldFlags) scenario(file string, d *sdf.Document, std streams) (*scenarios.Scenario, []worldPart, error) {
	worlds := d.Worlds
	if f.world != "" || len(worlds) == 0 {
		w, err := lockstep.Pick(d, file, f.world)
		if err != nil {
			return nil, nil, err
		}
		worlds = []*sdf.World{w}
	}
	if f.role.role == primary {
		if len(worlds) > 1 {
			return nil, nil, fmt.Errorf("%s has %d worlds, and a primary runs one; name it with --world", file, len(worlds))
		}
		var err error
		if f.digest, err = digestOf(file); err != nil {
			return nil, nil, err
		}
	}
	var parts []worldPart
	clients, links := []map[string]any{}, []map[string]any{}
	plans, err := f.plans(worlds, std)
	if err != nil {
		return nil, nil, err
	}
	for i, w := range worlds {
		p, list, err := f.clients(file, w, plans[i], len(d.Worlds) > 1, len(worlds) > 1)
		if err != nil {
			return nil, nil, err
		}
		if p.idle != nil {
			printEach(std.err, "warning", []problem.Problem{placed(file, "", p.idle)})
		}
		parts, clients, links = append(parts, p), append(clients, list...), append(links, p.links...)
	}
	if f.hashes != "" {
		clients = append(clients, map[string]any{"name": worldListener, "model": "sink", "with": map[string]any{"channels": hashChannels(parts)}})
	}
	doc := map[string]any{"name": scenarioName(file), "clients": clients}
	if f.role.role == primary {
		doc["start_timeout"] = f.role.patience.String()
	}
	if len(links) > 0 {
		doc["links"] = links
	}
	if rate, err := f.pace(worlds); err != nil {
		return nil, nil, err
	} else if rate > 0 {
		doc["rate"] = rate
	}
	// JSON is YAML, and needs no care of what has to be quoted.
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return nil, nil, err
	}
	sc, _, err := scenarios.Parse(file, text, scenarios.Overrides{Until: f.until, Seed: f.seed, AllowOutside: true})
	return sc, parts, err
}

// placed makes a problem of an error, at its place where it has one.
func placed(file, before string, err error) problem.Problem {
	if at := new(lockstep.PlaceError); errors.As(err, &at) {
		return problem.Problem{File: at.Place.File, Line: at.Place.Line, Column: at.Place.Column, Message: before + at.Err.Error()}
	}
	return problem.Problem{File: file, Message: before + err.Error()}
}

// plans returns the levels and performers of worlds, in their order. Without levels nobody minds what is wrong with them.
func (f *worldFlags) plans(worlds []*sdf.World, std streams) ([]*levels.Plan, error) {
	switch {
	case !slices.Contains(levels.Policies, f.policy):
		return nil, fmt.Errorf("--policy is %q; use %s", f.policy, strings.Join(levels.Policies, ", "))
	case f.policy == string(levels.None):
		return make([]*levels.Plan, len(worlds)), nil
	}
	plans, warnings, err := levelsOf(worlds)
	printEach(std.err, "warning", warnings)
	return plans, err
}

// pace returns the rate of the run; 0: as fast as it can.
func (f *worldFlags) pace(worlds []*sdf.World) (rate float64, err error) {
	switch f.rate {
	case "":
		return 0, nil
	case "file":
		for _, w := range worlds {
			if own := w.Physics.RealTimeFactor; own > 0 && (rate == 0 || own < rate) {
				rate = own
			}
		}
		return rate, nil
	}
	if rate, err = strconv.ParseFloat(f.rate, 64); err != nil || !(rate > 0) || math.IsInf(rate, 1) {
		return 0, fmt.Errorf("--rate is %q; write a number above 0, such as 1, or file", f.rate)
	}
	return rate, nil
}

// resetters returns one client for each reset that was asked for: at its time it tells the world to go back to the start.
func (f *worldFlags) resetters(w *sdf.World, prefix, client string) (list []map[string]any, err error) {
	for i, n := range f.resets {
		switch {
		case n < 1 || f.iterations > 0 && uint64(n) >= f.iterations:
			return nil, fmt.Errorf("--reset is %d; write an iteration from 1 on, and before the last one", n)
		case slices.Contains(f.resets[:i], n):
			return nil, fmt.Errorf("--reset names iteration %d twice; name it once", n)
		}
		list = append(list, map[string]any{"name": fmt.Sprintf("%sreset-%d", prefix, n), "model": "source", "with": map[string]any{
			"channel": catalog.ResetChannel(client), "start": (metasim.Time(n) * w.Physics.Step).String(), "period": "1s", "count": 1}})
	}
	return list, nil
}

// clients returns the clients of one world.
func (f *worldFlags) clients(file string, w *sdf.World, plan *levels.Plan, named, several bool) (p worldPart, list []map[string]any, err error) {
	prefix := ""
	if several {
		prefix = scenarioName(w.Name) + "-"
	}
	p.name, p.client = w.Name, prefix+"world"
	with := map[string]any{"file": filepath.Base(file)}
	if named {
		with["world"] = w.Name
	}
	if f.iterations > 0 {
		with["iterations"] = f.iterations
	}
	if f.hashes != "" {
		with["hashes"] = true
	}
	if len(f.resets) > 0 {
		with["resets"] = true
	}
	systems, err := lockstep.Check(w)
	if err != nil {
		return p, nil, err
	}
	if p.idle = f.idleSecondaries(w, systems); p.idle != nil && (f.compares || f.role.role == primary) {
		return p, nil, p.idle
	}
	secondaries := f.divide(plan, prefix, with, p.idle != nil)
	if f.timeout != "" && !f.degrade {
		with["timeout"] = f.timeout
	}
	list = []map[string]any{{"name": p.client, "model": "world", "with": with}}
	resets, err := f.resetters(w, prefix, p.client)
	if err != nil {
		return p, nil, err
	}
	list = append(append(list, resets...), secondaries...)
	if f.maps.dir != "" || f.live.HTTP != "" && plan != nil && len(plan.Levels) > 0 {
		p.mapper, with["map"] = prefix+worldMapper, f.maps.period(w.Physics.Step, f.until, f.iterations)
		list = append(list, mapTaker(p.mapper, p.client))
	}
	remote := []string{}
	var viewer map[string]any // what the client is given that makes pictures
	for _, s := range systems {
		with := with
		if s.LockStep && f.runtimes != "in-process" {
			remote = append(remote, s.Name)
			p.runtimes = append(p.runtimes, prefix+s.Name)
			with = map[string]any{"world": p.client, "system": s.Name}
			list = append(list, map[string]any{"name": prefix + s.Name, "model": "lockstep-runtime", "with": with})
			if travel := s.Travel(w); travel > 0 {
				p.links = append(p.links, map[string]any{"from": prefix + s.Name, "to": p.client, "delay": travel.String()})
			}
		}
		if s.Sees() {
			viewer = with
		}
	}
	if with["remote"] = remote; f.degrade {
		f.mayGo(list, with)
	}
	if f.camera != "" {
		looks, err := looker(file, w, prefix, viewer)
		return p, append(list, looks), err
	}
	return p, list, nil
}

// looker returns the client that takes the pictures of cameras, and has the client make them that is given viewer.
func looker(file string, w *sdf.World, prefix string, viewer map[string]any) (map[string]any, error) {
	topics := lockstep.CameraTopics(w)
	switch {
	case len(topics) == 0:
		return nil, fmt.Errorf("%s has no camera for --camera; leave it out, or add a <sensor type=\"camera\"> to a link", file)
	case viewer == nil:
		return nil, fmt.Errorf("%s has no system that makes pictures for --camera; add <plugin filename=\"gz-sim-sensors-system\" name=\"gz::sim::systems::Sensors\"/>", file)
	}
	viewer["topics"] = topics
	return map[string]any{"name": prefix + worldViewer, "model": "sink", "with": map[string]any{"channels": quoted(topics)}}, nil
}

// mayGo lets a world go on without its runtimes. Who hangs is ended, so that the world need not have a timeout of its own.
func (f *worldFlags) mayGo(list []map[string]any, with map[string]any) {
	with["degrade"] = with["remote"]
	for _, entry := range list {
		if entry["model"] == "lockstep-runtime" {
			entry["on_exit"] = "detach"
		}
		if f.timeout != "" && (entry["model"] == "lockstep-runtime" || entry["model"] == "world-secondary") {
			entry["hang_timeout"] = f.timeout
		}
	}
}

// idleSecondaries says why the secondaries that the user asked for have nothing to do in a world. The world then runs without them, with the same states.
func (f *worldFlags) idleSecondaries(w *sdf.World, systems []lockstep.Placed) error {
	if names, _, _ := f.secondaryNames(""); names == nil { // what is wrong with the flag was said before
		return nil
	}
	_, err := lockstep.Mover(w, slices.DeleteFunc(slices.Clone(systems), func(s lockstep.Placed) bool { return s.LockStep && f.runtimes != "in-process" }))
	return err
}

// divide gives the client of a world what it is to know of levels and of secondaries, and returns the clients of those.
func (f *worldFlags) divide(plan *levels.Plan, prefix string, with map[string]any, idle bool) (secondaries []map[string]any) {
	if f.policy != string(levels.None) && len(plan.Levels)+len(plan.Performers) > 0 {
		with["policy"] = f.policy
	}
	names, auto, _ := f.secondaryNames(prefix) // what is wrong with the flag was said before
	if names == nil || idle {
		return nil
	}
	if f.role.role == primary {
		secondaries = f.role.elsewhere(names, prefix+"world", f.digest)
	}
	for _, name := range names[len(secondaries):] {
		secondaries = append(secondaries, map[string]any{"name": name, "model": "world-secondary", "on_exit": "restart", "checkpoint": "1s", "with": map[string]any{"world": prefix + "world"}})
	}
	first := f.startsWith % len(names)
	secondaries = slices.Concat(secondaries[first:], secondaries[:first])
	if f.startsWith%2 == 1 {
		slices.Reverse(secondaries)
	}
	if with["secondaries"], with["run_ahead"] = names, f.ahead; auto {
		with["auto"] = true
	}
	if f.balance == measured {
		meter := prefix + "meter"
		with["meter"] = meter
		secondaries = append(secondaries, map[string]any{"name": meter, "model": "world-meter", "with": map[string]any{"world": prefix + "world", "secondaries": names}})
	}
	return secondaries
}

// measured is the --balance that moves levels by what secondaries take.
const measured = "measured"

// usualAhead is --run-ahead where nobody says it.
const usualAhead = "100ms"

// checkDivision says what is wrong with the flags that say who moves models, and how long they may take for it.
func (f *worldFlags) checkDivision() error {
	_, _, err := f.secondaryNames("")
	switch {
	case err != nil:
		return err
	case f.balance != measured && f.balance != "static":
		return fmt.Errorf("--balance is %q; use static or measured", f.balance)
	case f.balance == measured && f.secondaries == "":
		return errors.New("--balance measured moves models between secondaries, and there are none; add --secondaries")
	}
	switch ahead, err := delay.ParseDuration(f.ahead); {
	case err != nil || ahead < 0:
		return fmt.Errorf("--run-ahead is %q; write a duration of 0s or more, such as %s", f.ahead, usualAhead)
	case ahead > 0 && f.ahead != usualAhead && f.secondaries == "" && f.role.role != primary:
		return fmt.Errorf("--run-ahead %s is how far secondaries go ahead of the world, and there are none; add --secondaries", f.ahead)
	}
	if limit, err := delay.ParseDuration(f.timeout); f.timeout != "" && (err != nil || limit < metasim.Millisecond) {
		return fmt.Errorf("--timeout is %q; write a duration of 1ms or more, such as 1m", f.timeout)
	}
	return nil
}

// secondaryNames returns the clients that move the models of a world; none if it does so itself. With auto as many of them take part as are needed.
func (f *worldFlags) secondaryNames(prefix string) (names []string, auto bool, err error) {
	if f.role.role == primary {
		for k := range f.role.secondaries {
			names = append(names, run.SecondaryName(k+1))
		}
		return names, false, nil
	}
	if f.secondaries == "" {
		return nil, false, nil
	}
	text, auto := strings.CutPrefix(f.secondaries, "auto")
	n := min(runtime.NumCPU(), run.MostSecondaries)
	if of, bounded := strings.CutPrefix(text, ":"); !auto || text != "" {
		if n, err = strconv.Atoi(of); err != nil || n < 1 || n > run.MostSecondaries || auto && !bounded {
			return nil, false, fmt.Errorf("--secondaries is %q; write a whole number from 1 to %d, or auto, or auto:%d for %d at most", f.secondaries, run.MostSecondaries, autoExample, autoExample)
		}
	}
	for k := range n {
		names = append(names, prefix+run.SecondaryName(k+1))
	}
	return names, auto, nil
}

// autoExample is a bound for an example.
const autoExample = 4

func hashChannels(parts []worldPart) (names []string) {
	for i := range parts {
		names = append(names, parts[i].hashChannel())
	}
	return quoted(names)
}

// scenarioName makes a name for a scenario or a client of a file or a world.
func scenarioName(s string) string {
	s = strings.TrimSuffix(filepath.Base(s), filepath.Ext(s))
	return strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_.", r)) {
			return r
		}
		return '_'
	}, s)
}
