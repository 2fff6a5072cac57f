package main

import (
	"slices"

	"github.com/spf13/cobra"

	"metasim/federates/lockstep"
	"metasim/federates/sdf"
	"metasim/internal/problem"
)

// modelFlag is the flag of every command that loads a world: where the models are that it includes.
type modelFlag struct{ directories []string }

func (f *modelFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.directories, "models", nil, "look for models in this `directory`, before those of SDF_PATH and GZ_SIM_RESOURCE_PATH and that of the world; may be repeated")
}

// load reads a world, and what it includes.
func (f *modelFlag) load(file string) (*sdf.Document, []problem.Problem, error) {
	return sdf.Load(file, append(slices.Clone(f.directories), lockstep.ModelDirectories()...))
}
