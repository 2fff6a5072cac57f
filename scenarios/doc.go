// Package scenarios reads scenario files (*.metasim.yaml): which clients take part in a run, and how long messages
// travel between them. The language is described in docs/scenario.md.
//
// [Load] reads a file, applies [Overrides], and checks the result against the JSON schema that [Schema] prints and
// against what a schema cannot say: names that are taken twice, models and their parameters, files, commands, links that
// match nothing, a run that cannot end. It returns everything that is wrong at once, as a [*problem.Invalid] of problems with
// their places in the file. Loading starts nothing and writes nothing; the same file and overrides give the same Scenario,
// and the same [Scenario.Resolved], on every machine.
//
// The caller's duties: start what a Client's Run says only where the user asked for a run, as a scenario may name any
// program; open the files of parameters by the Open of [Scenario.Env], which keeps to the scenario's directory.
//
// From the file to the Scenario: parse.go makes nodes that know their places, salvage.go reads on behind what is no YAML, override.go changes the nodes,
// validate.go checks them against schema.go, check.go and its neighbours check the rest, document.go decodes.
package scenarios
