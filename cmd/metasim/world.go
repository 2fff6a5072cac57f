package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"metasim/federates/levels"
	"metasim/federates/lockstep"
	"metasim/federates/sdf"
	"metasim/internal/problem"
)

func newWorld(std streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "world",
		Short: "Check and run worlds of Gazebo, and make pictures of them",
		Long:  "Check and run worlds that are written in SDF, the Simulation Description Format of Gazebo, versions 1.6 to 1.11.",
		Args:  unknownCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newWorldCheck(std), newWorldRun(std), newWorldPicture(std))
	return cmd
}

func newWorldCheck(std streams) *cobra.Command {
	var f modelFlag
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check FILE.sdf",
		Short: "Name everything that is wrong with a world",
		Long: "Name everything that is wrong with a world in SDF. What Gazebo's own reader refuses (gz sdf --check) is refused, what it takes is\n" +
			"taken, and what has no effect here is a warning. A FILE.config is the configuration of a runtime (lock_step_runtime.config).",
		Args: exactly(1, "one world"),
		RunE: func(_ *cobra.Command, args []string) error {
			checked, warnings, err := f.check(args[0])
			v := validation{
				OK: err == nil, Errors: []problem.Problem{}, Warnings: append([]problem.Problem{}, warnings...), Advice: []problem.Problem{},
			}
			var invalid *problem.Invalid
			if errors.As(err, &invalid) {
				v.Errors = invalid.Problems
			} else if err != nil {
				return badUsage(err)
			}
			if asJSON {
				if err := printJSON(std.out, v); err != nil {
					return failed(err)
				}
			} else {
				printEach(std.err, "warning", warnings)
			}
			if err != nil {
				return &failure{status: 2, err: err, printed: asJSON}
			}
			if asJSON {
				return nil
			}
			_, err = fmt.Fprint(std.out, checked)
			return failed(err)
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object, and nothing else, on stdout")
	return cmd
}

// check returns what there is to say of a good file: of a world, or of the configuration of a runtime.
func (f *modelFlag) check(file string) (string, []problem.Problem, error) {
	if filepath.Ext(file) == ".config" {
		r, warnings, err := sdf.LoadRuntime(file)
		if err != nil {
			return "", warnings, err
		}
		if err := lockstep.CheckRuntime(r); err != nil {
			warnings = append(warnings, placed(file, "it cannot be run: ", err))
		}
		return fmt.Sprintf("%s is a good configuration of a runtime for the plugin %s\n", file, r.Plugin.Name), warnings, nil
	}
	d, warnings, err := f.load(file)
	if err != nil {
		return "", warnings, err
	}
	warnings = append(warnings, notRun(d)...)
	plans, warned, err := levelsOf(d.Worlds)
	if warnings = append(warnings, warned...); err != nil {
		return "", warnings, err
	}
	for _, w := range d.Worlds {
		if _, err := lockstep.Check(w); err != nil {
			warnings = append(warnings, placed(file, "the world "+w.Name+" cannot be run: ", err))
		}
	}
	return describeWorlds(file, d, plans), warnings, nil
}

// describeWorlds writes a line for each world of a file.
func describeWorlds(file string, d *sdf.Document, plans []*levels.Plan) string {
	if len(d.Worlds) == 0 {
		return fmt.Sprintf("%s is good SDF %s, but has no world to run\n", file, d.Version)
	}
	var text strings.Builder
	for i, world := range d.Worlds {
		fmt.Fprintf(&text, "%s: the world %s is good SDF %s: models %d, lights %d, plugins %d, step %s", file, world.Name, d.Version,
			len(world.Models), len(world.Lights), len(world.Plugins), time.Duration(world.Physics.Step))
		if p := plans[i]; len(p.Levels)+len(p.Performers) > 0 {
			fmt.Fprintf(&text, ", levels %d, performers %d", len(p.Levels), len(p.Performers))
		}
		text.WriteByte('\n')
	}
	return text.String()
}
