package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"metasim/analysis/report"
	"metasim/federates/catalog"
	"metasim/federates/levels"
	"metasim/federates/lockstep"
	"metasim/federates/sdf"
	"metasim/metasim"
	"metasim/run"
	"metasim/scenarios"
	"metasim/server"
)

// worldFlags are the flags of metasim world run.
type worldFlags struct {
	runtimes, hashes, camera, world, until, rate, out, seed, timeout, policy, secondaries string
	iterations                                                                            uint64
	resets                                                                                []int
	report, json, animation                                                               bool
	live                                                                                  liveFlags
}

func newWorldRun(std streams) *cobra.Command {
	var f worldFlags
	cmd := &cobra.Command{
		Use:   "run FILE.sdf",
		Short: "Run a world, its systems in lock step with it",
		Long: "Run a world that is written in SDF. A system that stands inside a placeholder (gz::sim::systems::LockStep) runs in a\n" +
			"client of its own, in step with the world: the state after each step is the same, wherever the systems run.\n" +
			"The run goes as fast as it can, whatever real_time_factor the file has, unless --rate says otherwise.\n\n" +
			"It is a run as any other, with a scenario that this command writes: metasim log, report, replay and diff read its directory.",
		Args: exactly(1, "one file of a world"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.carryOut(cmd, args[0], std)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.runtimes, "runtimes", "unix", "where the systems in placeholders run: in-process, with the world; mem, in clients of this process;\n"+
		processTransports()+", in processes of their own, over this transport")
	flags.Uint64Var(&f.iterations, "iterations", 0, "run this `number` of steps (default: until --until)")
	flags.IntSliceVar(&f.resets, "reset", nil, "take the world back to its start after this `iteration`; a list with commas, or repeated. Its iterations count from 1 again, but not those of --iterations")
	flags.StringVar(&f.until, "until", "", "run to this simulated time, a `duration`, as in 2s (default: until --iterations are done)")
	flags.StringVar(&f.rate, "rate", "", "let simulated time pass at this `rate`: 1 is as fast as in the world, 0.5 half as fast; file takes the real_time_factor of the file, as Gazebo\n"+
		"does, of several worlds the least (default: as fast as it can)")
	flags.StringVar(&f.timeout, "timeout", "", "end the run where a runtime takes longer than this wall-clock `duration` for a call, as in 1m (default: wait)")
	flags.StringVar(&f.policy, "policy", "gz", "when levels are loaded: gz, when a performer touches the box of one; document, when it touches the buffer; none: all models are there all the time")
	flags.StringVar(&f.secondaries, "secondaries", "", "let so many clients of their own, a `number`, move the models, each those in its levels; the states are the same. Where they run says --runtimes")
	flags.StringVar(&f.world, "world", "", "run the world of this `name`, of a file with several (default: all, each as a client of its own)")
	flags.StringVar(&f.hashes, "hashes", "", "write a line ITERATION SHA256 for the state after each step to this `file`; of several worlds, ITERATION SHA256 WORLD")
	flags.StringVar(&f.camera, "camera", "", "write the pictures of all cameras as PNG into this `directory`: TOPIC-00000.png and so on. The world needs the system\n"+
		"gz::sim::systems::Sensors for that")
	flags.BoolVar(&f.animation, "animation", false, "write the pictures of each camera as an animated PNG too, TOPIC.apng, which browsers show; it passes as fast as simulated time")
	flags.StringVar(&f.seed, "seed", "0", "the seed of the run: a whole `number`")
	flags.StringVar(&f.out, "out", "", "the run `directory` (default: runs/<name>-<n>)")
	flags.BoolVar(&f.report, "report", false, "report on the run at once, as metasim report does: what lock step costs")
	f.live.add(cmd)
	flags.BoolVar(&f.json, "json", false, "print the outcome as one JSON object, and nothing else, on stdout")
	return cmd
}

func (f *worldFlags) carryOut(cmd *cobra.Command, file string, std streams) error {
	out, text, err := f.run(cmd, file, std)
	switch {
	case out != nil: // the run has ended; what is made of its record may have failed
		if err != nil && out.OK {
			out.OK, out.Error = false, err.Error()
		}
		err = errors.Join(failed(out.err), err)
	default:
		out = &worldOutcome{Error: err.Error(), Runtimes: []runtimeOutcome{}}
	}
	if !f.json {
		_, e := std.out.Write(text)
		return errors.Join(err, e)
	}
	if e := printJSON(std.out, out); e != nil {
		return errors.Join(err, e)
	}
	return err
}

// run runs the worlds of a file.
func (f *worldFlags) run(cmd *cobra.Command, file string, std streams) (*worldOutcome, []byte, error) {
	transport := f.runtimes
	if transport == "in-process" {
		transport = "mem"
	}
	switch {
	case !slices.Contains(run.Transports, transport):
		return nil, nil, badUsage(fmt.Errorf("--runtimes is %q; use in-process, %s", f.runtimes, strings.Join(run.Transports, ", ")))
	case f.iterations == 0 && f.until == "":
		return nil, nil, badUsage(errors.New("nothing says how long the world is to run; use --iterations or --until"))
	}
	if f.animation && f.camera == "" {
		return nil, nil, badUsage(errors.New("--animation is made of the pictures of --camera; name the directory for both with it"))
	}
	if _, err := f.secondaryNames(""); err != nil {
		return nil, nil, badUsage(err)
	}
	if err := f.live.check(); err != nil {
		return nil, nil, badUsage(err)
	}
	d, warnings, err := new(modelFlag).load(file)
	printEach(std.err, "warning", warnings)
	if err != nil {
		return nil, nil, badUsage(err)
	}
	printEach(std.err, "warning", notRun(d))
	sc, worlds, err := f.scenario(file, d, std)
	if err != nil {
		return nil, nil, badUsage(err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, nil, failed(err)
	}
	collectLess()
	during, show, shown := f.live.openScreen(std)
	o := run.Options{Transport: transport, Inside: beside(sc, worlds), Out: f.out, Self: []string{self}, AllowOutside: true, Log: newLogger(during.err, false), Command: commandLine(cmd, file)}
	progress := newProgress(during.err, sc.Until, f.live.kind(show))
	o.Watch = func(s *server.Server) { progress.start(s) }
	o.Live = f.live.options(progress.say, show)
	done, err := run.Scenario(cmd.Context(), sc, o)
	progress.stop()
	shown()
	if err != nil {
		return nil, nil, failed(err)
	}
	out, err := outcomeOf(done, worlds)
	if err == nil && f.hashes != "" {
		err = writeHashes(done.RunDir, f.hashes, worlds)
	}
	if err == nil && f.camera != "" {
		err = writePictures(done.RunDir, f.camera, f.animation)
	}
	var text bytes.Buffer
	out.print(&text)
	if err == nil && f.report {
		err = reportAtOnce(done, &text, f.json, report.Style{Width: columns(std.out)})
	}
	return out, text.Bytes(), failed(err)
}

// beside returns the clients that run in this process whatever the transport. A world that is alone is one of them: its systems outside are
// then two switches of process away for each call, instead of four. Several worlds have processes of their own, as they compute at the same time.
func beside(sc *scenarios.Scenario, worlds []worldPart) (names []string) {
	if len(worlds) > 1 {
		return nil
	}
	for i := range sc.Clients {
		if name := sc.Clients[i].Name; !slices.Contains(worlds[0].runtimes, name) {
			names = append(names, name)
		}
	}
	return names
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
		parts, clients, links = append(parts, p), append(clients, list...), append(links, p.links...)
	}
	if f.hashes != "" {
		clients = append(clients, map[string]any{"name": worldListener, "model": "sink", "with": map[string]any{"channels": hashChannels(parts)}})
	}
	doc := map[string]any{"name": scenarioName(file), "clients": clients}
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

// resetters returns the clients that take a world back to its start, one for each time.
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
	secondaries := f.divide(plan, prefix, with)
	if f.timeout != "" {
		with["timeout"] = f.timeout
	}
	list = []map[string]any{{"name": p.client, "model": "world", "with": with}}
	resets, err := f.resetters(w, prefix, p.client)
	if err != nil {
		return p, nil, err
	}
	list = append(append(list, resets...), secondaries...)
	systems, err := lockstep.Check(w)
	if err != nil {
		return p, nil, err
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
	with["remote"] = remote
	if f.camera != "" {
		topics := lockstep.CameraTopics(w)
		switch {
		case len(topics) == 0:
			return p, nil, fmt.Errorf("%s has no camera for --camera; leave it out, or add a <sensor type=\"camera\"> to a link", file)
		case viewer == nil:
			return p, nil, fmt.Errorf("%s has no system that makes pictures for --camera; add <plugin filename=\"gz-sim-sensors-system\" name=\"gz::sim::systems::Sensors\"/>", file)
		}
		viewer["topics"] = topics
		list = append(list, map[string]any{"name": prefix + worldViewer, "model": "sink", "with": map[string]any{"channels": quoted(topics)}})
	}
	return p, list, nil
}

// divide gives the client of a world what it is to know of levels and of secondaries, and returns the clients of those.
func (f *worldFlags) divide(plan *levels.Plan, prefix string, with map[string]any) (secondaries []map[string]any) {
	if f.policy != string(levels.None) && len(plan.Levels)+len(plan.Performers) > 0 {
		with["policy"] = f.policy
	}
	names, _ := f.secondaryNames(prefix) // what is wrong with the flag was said before
	for _, name := range names {
		secondaries = append(secondaries, map[string]any{"name": name, "model": "world-secondary", "on_exit": "restart", "with": map[string]any{"world": prefix + "world"}})
	}
	if names != nil {
		with["secondaries"] = names
	}
	return secondaries
}

// maxSecondaries is how many clients may move the models of a world.
const maxSecondaries = 64

// secondaryNames returns the clients that move the models of a world; none if it does so itself.
func (f *worldFlags) secondaryNames(prefix string) (names []string, err error) {
	if f.secondaries == "" {
		return nil, nil
	}
	n, err := strconv.Atoi(f.secondaries)
	if err != nil || n < 1 || n > maxSecondaries {
		return nil, fmt.Errorf("--secondaries is %q; write a whole number from 1 to %d", f.secondaries, maxSecondaries)
	}
	for k := range n {
		names = append(names, fmt.Sprintf("%ssecondary-%d", prefix, k+1))
	}
	return names, nil
}

func hashChannels(parts []worldPart) (names []string) {
	for i := range parts {
		names = append(names, parts[i].hashChannel())
	}
	return quoted(names)
}

// quoted makes patterns of the names of channels.
func quoted(names []string) (patterns []string) {
	for _, name := range names {
		patterns = append(patterns, regexp.QuoteMeta(name))
	}
	return patterns
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
