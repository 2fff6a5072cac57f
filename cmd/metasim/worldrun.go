package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"metasim/analysis/report"
	"metasim/run"
	"metasim/scenarios"
	"metasim/server"
)

func newWorldRun(std streams) *cobra.Command { return worldRunWith(&worldFlags{}, std) }

// worldRunWith is metasim world run, whose flags are read into f.
func worldRunWith(f *worldFlags, std streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "run FILE.sdf",
		Short: "Run a world, its systems in lock step with it",
		Long: "Run a world that is written in SDF. A system that stands inside a placeholder (gz::sim::systems::LockStep) runs in a\n" +
			"client of its own, in step with the world: the state after each step is the same, wherever the systems run.\n" +
			"The run goes as fast as it can, whatever real_time_factor the file has, unless --rate says otherwise.\n\n" +
			"It is a run as any other, with a scenario that this command writes: metasim log, report, replay and diff read its directory.",
		Args: exactly(1, "one file of a world"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.role.check(cmd.Flags(), &f.runtimes); err != nil {
				return badUsage(err)
			}
			if f.role.role == secondary {
				return f.role.join(cmd.Context(), args[0], f.json, std)
			}
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
	flags.StringVar(&f.secondaries, "secondaries", "", "let so many clients of their own, a `number`, move the models, each those in its levels; the states are the same. Where they run says --runtimes.\n"+
		"auto: only as many at a time as performers need, up to the number of processors; auto:4, up to 4")
	flags.StringVar(&f.balance, "balance", "static", "the `rule` that says which secondary has which levels: static, they take turns; measured, levels and models move to those that take less processor time. The states\n"+
		"are the same; with measured, what is sent is not")
	flags.BoolVar(&f.degrade, "degrade", false, "go on without a system whose runtime dies, or takes longer than --timeout for a call; the outcome names it, and the run is not deterministic\n"+
		"any more (default: the run ends)")
	flags.StringVar(&f.ahead, "run-ahead", usualAhead, "let secondaries go ahead of the world by up to this simulated `duration`, where their models meet nobody else's; 0s: they never do. The states are the same")
	flags.StringVar(&f.world, "world", "", "run the world of this `name`, of a file with several (default: all, each as a client of its own)")
	flags.StringVar(&f.hashes, "hashes", "", "write a line ITERATION SHA256 for the state after each step to this `file`; of several worlds, ITERATION SHA256 WORLD")
	flags.StringVar(&f.camera, "camera", "", "write the pictures of all cameras as PNG into this `directory`: TOPIC-00000.png and so on. The world needs the system\n"+
		"gz::sim::systems::Sensors for that")
	flags.BoolVar(&f.animation, "animation", false, "write the pictures of each camera as an animated PNG too, TOPIC.apng, which browsers show; it passes as fast as simulated time")
	flags.StringVar(&f.seed, "seed", "0", "the seed of the run: a whole `number`")
	flags.StringVar(&f.out, "out", "", "the run `directory` (default: runs/<name>-<n>)")
	flags.BoolVar(&f.report, "report", false, "report on the run at once, as metasim report does: what lock step costs")
	f.maps.add(cmd)
	f.role.add(cmd)
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
	if f.degrade && f.timeout != "" && transport == "mem" {
		return nil, nil, badUsage(fmt.Errorf("--degrade with --timeout ends processes that hang, and with --runtimes %s there are none; leave --timeout out, or let the runtimes have processes", f.runtimes))
	}
	if err := f.checkDivision(); err != nil {
		return nil, nil, badUsage(err)
	}
	if err := cmp.Or(f.live.check(), f.maps.check(f.live.HTTP != "")); err != nil {
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
	if err := f.prepare(); err != nil {
		return nil, nil, failed(err)
	}
	during, show, shown := f.live.openScreen(std)
	o := run.Options{Transport: transport, Inside: beside(sc, worlds), Idle: idle(sc), Out: f.out, Self: []string{self}, AllowOutside: true, Log: newLogger(during.err, false), Command: commandLine(cmd, file)}
	progress := newProgress(during.err, sc.Until, f.live.kind(show))
	f.role.options(&o, file, during)
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
	if err == nil && f.maps.dir != "" {
		err = f.maps.write(done, worlds)
	}
	var text bytes.Buffer
	out.print(&text)
	if err == nil && f.report {
		err = reportAtOnce(done, &text, f.json, report.Style{Width: columns(std.out)})
	}
	return out, text.Bytes(), failed(err)
}

// prepare makes the directories of what is written after the run: who waited for it should not hear then that there is no place for it.
func (f *worldFlags) prepare() error {
	for _, p := range []struct{ flag, dir string }{{"--camera", f.camera}, {"--map", f.maps.dir}, {"--hashes", filepath.Dir(f.hashes)}} {
		if p.dir == "" {
			continue
		}
		if err := os.MkdirAll(p.dir, 0o755); err != nil {
			return fmt.Errorf("the directory of %s cannot be made: %w; name another one", p.flag, err)
		}
	}
	return nil
}

// beside returns the clients that run in this process whatever the transport. A world that is alone is one of them: its systems outside are
// then two switches of process away for each call, instead of four. Several worlds have processes of their own, as they compute at the same time.
func beside(sc *scenarios.Scenario, worlds []worldPart) (names []string) {
	for i := range sc.Clients {
		c := &sc.Clients[i]
		if c.Model == "world-meter" || len(worlds) == 1 && !c.External && c.Model != "world-secondary" && !slices.Contains(worlds[0].runtimes, c.Name) {
			names = append(names, c.Name)
		}
	}
	return names
}
