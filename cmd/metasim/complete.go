package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"metasim/federates/catalog"
	"metasim/record"
	"metasim/run"
	"metasim/scenarios"
)

// addCompletions lets a shell complete what cobra cannot know: models, transports, scenarios, runs, and the clients of a run or scenario.
// It asks this program at each press of the key, so a scenario or a run that was just made is known.
func addCompletions(root *cobra.Command) {
	for cmd := range commandsBelow(root) {
		cmd.ValidArgsFunction = completeArgs
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if complete := flagCompletions[f.Name]; complete != nil && f.Value.Type() != "bool" {
				_ = cmd.RegisterFlagCompletionFunc(f.Name, complete) // it fails for a flag that is not there, or that has one
			}
		})
	}
}

// commandsBelow yields a command and all below it.
func commandsBelow(cmd *cobra.Command) func(yield func(*cobra.Command) bool) {
	return func(yield func(*cobra.Command) bool) {
		if !yield(cmd) {
			return
		}
		for _, sub := range cmd.Commands() {
			for below := range commandsBelow(sub) {
				if !yield(below) {
					return
				}
			}
		}
	}
}

// flagCompletions complete the values of flags, by name. A flag that several commands have means the same in all.
var flagCompletions = map[string]cobra.CompletionFunc{
	"transport": completeTransport,
	"client":    completeClient,
	"run": func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return recordedRuns(), noFiles
	},
	"set":       completeSet,
	"with":      completeWith,
	"progress":  fixed("auto", "plain", "json", "none"),
	"lcm-names": fixed("plain", "clients"),
	"lang":      fixed(languages...),
	"out":       directories, "plots": directories, "csv": directories, "parquet": directories, "types": directories,
}

const noFiles = cobra.ShellCompDirectiveNoFileComp

func fixed(words ...string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) { return words, noFiles }
}

func directories(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// completeArgs completes the arguments of a command by what its usage line calls them.
func completeArgs(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	wanted := strings.Fields(cmd.Use)[1:]
	if len(args) >= len(wanted) {
		return nil, noFiles
	}
	switch strings.Trim(wanted[len(args)], "[].") {
	case "FILE":
		if cmd.HasParent() && cmd.Parent().Name() == "lcm" {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return []string{"yaml", "json"}, cobra.ShellCompDirectiveFilterFileExt
	case "RUN_DIR", "RUN_DIR_A", "RUN_DIR_B":
		if known := recordedRuns(); len(known) > 0 {
			return known, noFiles
		}
		return nil, cobra.ShellCompDirectiveFilterDirs
	case "MODEL":
		var models []string
		for _, m := range catalog.Models() {
			models = append(models, cobra.CompletionWithDesc(m.Name, m.Doc))
		}
		return models, noFiles
	case "CLIENT":
		return completeClient(cmd, args, "")
	case "DIR":
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return nil, cobra.ShellCompDirectiveDefault
}

// recordedRuns are the runs below runs/, the newest first.
func recordedRuns() []string {
	found, err := filepath.Glob(filepath.Join("runs", "*", "manifest.json"))
	if err != nil {
		return nil
	}
	changed := map[string]int64{}
	var dirs []string
	for _, file := range found {
		dir := filepath.Dir(file)
		dirs = append(dirs, dir)
		if info, err := os.Stat(file); err == nil {
			changed[dir] = info.ModTime().UnixNano()
		}
	}
	slices.SortStableFunc(dirs, func(a, b string) int { return int(min(max(changed[b]-changed[a], -1), 1)) })
	return dirs
}

// completeTransport completes the transports that a command takes: several, with commas between them, or one.
func completeTransport(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	known := run.Transports
	if cmd.Name() == "serve" {
		known = known[1:]
	}
	if cmd.Flags().Lookup("transport").Value.Type() != "stringSlice" {
		return known, noFiles
	}
	before := begun[:strings.LastIndexByte(begun, ',')+1]
	var lists []string
	for _, t := range known {
		if !slices.Contains(strings.Split(before, ","), t) {
			lists = append(lists, before+t)
		}
	}
	return lists, noFiles | cobra.ShellCompDirectiveNoSpace
}

// completeClient completes the clients of the run, or of the scenario, that the command line names; else of all runs below runs/.
func completeClient(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if f := cmd.Flags().Lookup("run"); f != nil && f.Value.String() != "" {
		args = []string{f.Value.String()}
	}
	if len(args) == 0 || cmd.Name() == "why" && !cmd.Flags().Changed("run") {
		args = recordedRuns()
	}
	var names []string
	for _, dir := range args {
		if r, err := record.Open(dir); err == nil {
			names = append(names, r.Manifest.Clients...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), noFiles
}

// completeSet completes the path of an override: the keys that most scenarios have, and the clients of this one.
func completeSet(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	paths := []string{"rate=", "seed=", "until=", "links[0].delay="}
	if len(args) > 0 {
		if sc, _, err := scenarios.Load(args[0], scenarios.Overrides{AllowOutside: true}); err == nil {
			for _, entry := range sc.Clients {
				for name := range entry.With {
					paths = append(paths, "clients."+entry.Name+".with."+name+"=")
				}
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths), noFiles | cobra.ShellCompDirectiveNoSpace
}

// completeWith completes a parameter of the model that the command line names.
func completeWith(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, noFiles
	}
	model, err := catalog.Lookup(args[0])
	if err != nil {
		return nil, noFiles
	}
	var names []string
	for _, p := range model.Params {
		names = append(names, cobra.CompletionWithDesc(p.Name+"=", p.Doc))
	}
	return names, noFiles | cobra.ShellCompDirectiveNoSpace
}
