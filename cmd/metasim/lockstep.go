package main

import (
	"cmp"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"metasim/federates/sdf"
	"metasim/run"
)

func newLockStepRuntime() *cobra.Command {
	var f clientFlags
	var world, system string
	var topics []string
	var stats, outside bool
	cmd := &cobra.Command{
		Use:   "lockstep-runtime CONFIG",
		Short: "Run one system of a world, in lock step with it",
		Long: "Run one system of a world in a process of its own, in lock step with the world. CONFIG is the configuration that Gazebo's prototype of\n" +
			"lock step reads (lock_step_runtime.config): it names the plugin, and has its parameters. The server, the client's name and the join token come\n" +
			"from METASIM_SERVER, METASIM_CLIENT and METASIM_TOKEN, or from the flags. It may be started before the server, and waits for it (--wait).\n\n" +
			"metasim world run starts runtimes itself. This command is for a scenario of your own, and for a runtime on another host:\n\n" +
			"  clients:\n" +
			"    - {name: world, model: world, with: {file: lock_step.sdf, remote: [sensors]}}\n" +
			"    - {name: sensors, run: [metasim, lockstep-runtime, lock_step_runtime.config]}",
		Args: exactly(1, "the configuration of a runtime"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, _, err := sdf.LoadRuntime(args[0])
			if err != nil {
				r = &sdf.Runtime{} // the client reads it again, and fails with what is wrong
			}
			with := map[string]any{"config": filepath.Base(args[0]), "world": cmp.Or(world, r.World, "world")}
			if system = cmp.Or(system, r.System); system != "" {
				with["system"] = system
			}
			if stats {
				with["stats"] = true
			}
			if len(topics) > 0 {
				with["topics"] = topics
			}
			in := &run.Instance{Model: "lockstep-runtime", With: with, Seed: f.seed, Dir: filepath.Dir(args[0]), AllowOutside: outside, DirOf: "configuration"}
			return f.join(cmd, in)
		},
	}
	f.addServer(cmd, 30*time.Second)
	flags := cmd.Flags()
	flags.StringVar(&world, "world", "", "the `client` that runs the world (default: <service> of the configuration, else world)")
	flags.StringVar(&system, "system", "", "the `system`, as the world calls it (default: <service> of the configuration, else the name of the client)")
	flags.BoolVar(&outside, "allow-outside", false, "let the configuration be, and name, files outside of its directory: a symbolic link, a WebAssembly module")
	flags.BoolVar(&stats, "stats", false, "publish plugin, state, calls and update rate on WORLD/SYSTEM/stats")
	flags.StringSliceVar(&topics, "topics", nil, "the `topics` that the system may publish, as the pictures of cameras")
	return cmd
}
