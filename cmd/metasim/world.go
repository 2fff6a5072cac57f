package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

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
			"taken, and what has no effect here is a warning.",
		Args: exactly(1, "one world"),
		RunE: func(_ *cobra.Command, args []string) error {
			document, warnings, err := f.load(args[0])
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
			return failed(describeWorlds(std.out, args[0], document))
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object, and nothing else, on stdout")
	return cmd
}

// describeWorlds prints a line for each world of a file.
func describeWorlds(w io.Writer, file string, d *sdf.Document) error {
	if len(d.Worlds) == 0 {
		_, err := fmt.Fprintf(w, "%s is good SDF %s, but has no world to run\n", file, d.Version)
		return err
	}
	for _, world := range d.Worlds {
		_, err := fmt.Fprintf(w, "%s: the world %s is good SDF %s: models %d, lights %d, plugins %d, step %s\n", file, world.Name, d.Version,
			len(world.Models), len(world.Lights), len(world.Plugins), time.Duration(world.Physics.Step))
		if err != nil {
			return err
		}
	}
	return nil
}
