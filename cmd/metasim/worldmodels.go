package main

import (
	"slices"

	"github.com/spf13/cobra"

	"metasim/federates/lockstep"
	"metasim/federates/sdf"
	"metasim/internal/problem"
)

// modelFlag is --models of "world check" and "world picture": where the models are that it includes.
type modelFlag struct{ directories []string }

func (f *modelFlag) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.directories, "models", nil, "look for models in this `directory`, before those of SDF_PATH and GZ_SIM_RESOURCE_PATH and that of the world; may be repeated")
}

// load reads a world, and what it includes.
func (f *modelFlag) load(file string) (*sdf.Document, []problem.Problem, error) {
	return sdf.Load(file, append(slices.Clone(f.directories), lockstep.ModelDirectories()...), nil)
}

// notRun warns of plugins in worlds that do nothing in a run.
func notRun(d *sdf.Document) (warnings []problem.Problem) {
	warn := func(p *sdf.Plugin, message string) {
		warnings = append(warnings, problem.Problem{File: p.Place.File, Line: p.Place.Line, Column: p.Place.Column, Message: message})
	}
	var inModels func(models []*sdf.Model)
	inModels = func(models []*sdf.Model) {
		for _, m := range models {
			for _, p := range m.Plugins {
				warn(p, "the plugin "+p.Name+" stands in a model, and only plugins of the world are run")
			}
			inModels(m.Models)
		}
	}
	for _, w := range d.Worlds {
		for _, p := range w.Plugins {
			if p.Name == "gz::sim" || p.Name == "ignition::gazebo" {
				warn(p, "levels and performers are not acted on: every model is in the world all the time")
			}
		}
		inModels(w.Models)
	}
	return warnings
}
