package main

import (
	"errors"
	"regexp"
	"slices"

	"github.com/spf13/cobra"

	"metasim/federates/levels"
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
		inModels(w.Models)
	}
	return warnings
}

// levelsOf reads the levels and performers of worlds, in their order. The error is a *[problem.Invalid].
func levelsOf(worlds []*sdf.World) (plans []*levels.Plan, warnings []problem.Problem, err error) {
	wrong := &problem.Invalid{}
	for _, w := range worlds {
		plan, warned, err := levels.Read(w)
		var invalid *problem.Invalid
		if errors.As(err, &invalid) {
			wrong.Problems = append(wrong.Problems, invalid.Problems...)
		}
		plans, warnings = append(plans, plan), append(warnings, warned...)
	}
	if len(wrong.Problems) > 0 {
		return nil, warnings, wrong
	}
	return plans, warnings, nil
}

// quoted makes patterns of the names of channels.
func quoted(names []string) (patterns []string) {
	for _, name := range names {
		patterns = append(patterns, regexp.QuoteMeta(name))
	}
	return patterns
}
