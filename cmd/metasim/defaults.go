package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"metasim/internal/suggest"
	"metasim/run/supervisor"
)

// Defaults of the flags of these commands can be set by the environment and by the user's configuration file, those of some others by the environment alone. A flag on the
// command line comes first, then the environment, then the file, then the default that the help names.
var withDefaults = []string{"run", "serve", "resume", "relay", "bench"}

// withoutDefault are flags that are given on the command line only: they change what a scenario means, or name files of one run.
var withoutDefault = []string{"set", "seed", "until", "allow-outside", "out", "ready-file", "tokens", "help"}

// addDefaults lets a command take defaults of its flags from the environment and the configuration file.
func addDefaults(cmd *cobra.Command) {
	flag, value := exampleDefault(cmd)
	cmd.Long += "\n\nDefaults of the flags, except those of the scenario and of its files, can be set in the environment, as in\n" +
		envName(cmd.Name(), flag) + "=" + value
	if slices.Contains(withDefaults, cmd.Name()) {
		cmd.Long += ", or in the file metasim/config.yaml of your configuration directory\n" +
			"($XDG_CONFIG_HOME, else ~/.config), as in\n  " + cmd.Name() + ": {" + flag + ": " + value + "}"
	}
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		printEach(cmd.ErrOrStderr(), "warning", strayVariables(cmd, os.Environ()))
		return badUsage(setDefaults(cmd))
	}
}

// exampleDefault is a flag of a command that can have a default, with a value.
func exampleDefault(cmd *cobra.Command) (flag, value string) {
	for _, flag := range []string{"json", "verbose"} {
		if cmd.Flags().Lookup(flag) != nil {
			return flag, "true"
		}
	}
	names := flagsWithDefault(cmd)
	flag = names[max(0, slices.IndexFunc(names, func(name string) bool { return cmd.Flags().Lookup(name).DefValue != "" }))]
	return flag, cmd.Flags().Lookup(flag).DefValue
}

// envName is the environment variable of a flag of a command: METASIM_RUN_HTTP_OUTSIDE.
func envName(command, flag string) string {
	return strings.ToUpper(strings.NewReplacer("-", "_").Replace("metasim_" + command + "_" + flag))
}

// variables are the other variables of the environment that metasim and its clients read. A supervisor sets the last one for each process that it starts, a relay too.
var variables = []string{"METASIM_SERVER", "METASIM_CLIENT", "METASIM_TOKEN", "METASIM_HTTP_TOKEN", supervisor.MarkName}

// strayVariables returns a warning for each variable whose name is one of metasim's, but that nobody reads. The warning says which one was
// probably meant. What belongs to another command is left to that command.
func strayVariables(cmd *cobra.Command, environ []string) []string {
	var stray []string
	var defaults []string
	for _, flag := range flagsWithDefault(cmd) {
		defaults = append(defaults, envName(cmd.Name(), flag))
	}
	for _, entry := range slices.Sorted(slices.Values(environ)) {
		name, value, _ := strings.Cut(entry, "=")
		word, ours := strings.CutPrefix(name, "METASIM_")
		rest, isDefault := strings.CutPrefix(name, envName(cmd.Name(), ""))
		flag := strings.ReplaceAll(strings.ToLower(rest), "_", "-")
		switch {
		case !ours || value == "" || slices.Contains(defaults, name) || slices.Contains(variables, name) || ofAnother(cmd.Name(), name):
		case isDefault && slices.Contains(withoutDefault, flag):
			stray = append(stray, fmt.Sprintf("%s is the default of no flag of %s; give --%s on the command line", name, cmd.CommandPath(), flag))
		case isDefault:
			stray = append(stray, fmt.Sprintf("%s is the default of no flag of %s; %s", name, cmd.CommandPath(), meantVariable(cmd, flag, name, defaults)))
		default:
			stray = append(stray, fmt.Sprintf("%s is no variable of metasim; %s", name, meantVariable(cmd, strings.ToLower(word), name, append(defaults, variables...))))
		}
	}
	return stray
}

// ofAnother reports whether a variable has the name of a default of another command.
func ofAnother(command, name string) bool {
	return slices.ContainsFunc(withDefaults, func(c string) bool { return c != command && strings.HasPrefix(name, envName(c, "")) })
}

// meantVariable says which variable was probably meant: one with a name like this one, or the default of a flag with this name.
func meantVariable(cmd *cobra.Command, word, name string, known []string) string {
	meant := suggest.Near(name, known, (len(word)+2)/3)
	if meant == "" {
		meant = suggest.Near(envName(cmd.Name(), word), known, (len(word)+2)/3)
	}
	if meant == "" {
		return "see " + cmd.CommandPath() + " --help"
	}
	return "did you mean " + meant + "?"
}

// setDefaults sets the flags that the command line has left out and that have a default of the user.
func setDefaults(cmd *cobra.Command) (err error) {
	v := viper.New()
	file, err := readConfig(v, cmd.Root())
	if err != nil {
		return err
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		key, env := cmd.Name()+"."+f.Name, envName(cmd.Name(), f.Name)
		if err != nil || f.Changed || !hasDefault(f) {
			return
		}
		if err = v.BindEnv(key, env); err != nil || !v.IsSet(key) {
			return
		}
		source := file + ": " + key
		if os.Getenv(env) != "" {
			source = env
		}
		if e := cmd.Flags().Set(f.Name, v.GetString(key)); e != nil {
			err = fmt.Errorf("%s: %s", source, parseCause.ReplaceAllString(e.Error(), ": "))
		}
	})
	return err
}

func hasDefault(f *pflag.Flag) bool { return !f.Hidden && !slices.Contains(withoutDefault, f.Name) }

func flagsWithDefault(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if hasDefault(f) {
			names = append(names, f.Name)
		}
	})
	return names
}

// readConfig reads the configuration file into v, and returns its path. It is no error if there is no such file.
func readConfig(v *viper.Viper, root *cobra.Command) (path string, err error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", nil // neither XDG_CONFIG_HOME nor HOME says where it would be
	}
	path = filepath.Join(dir, "metasim", "config.yaml")
	v.SetConfigFile(path)
	switch err := v.ReadInConfig(); {
	case errors.Is(err, fs.ErrNotExist):
		return path, nil
	case err != nil:
		return path, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	keys := v.AllKeys()
	slices.Sort(keys)
	for _, key := range keys {
		if err := checkKey(root, key, v.Get(key)); err != nil {
			return path, fmt.Errorf("%s: %w", path, err)
		}
	}
	return path, nil
}

// checkKey refuses a key of the configuration file that is no flag of a command, and a list.
func checkKey(root *cobra.Command, key string, value any) error {
	command, name, isFlag := strings.Cut(key, ".")
	if !slices.Contains(withDefaults, command) {
		return fmt.Errorf("%q is unknown here; %s", command, suggest.Word(command, withDefaults))
	}
	if !isFlag && value == nil { // a command without a flag yet
		return nil
	}
	i := slices.IndexFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == command })
	if !isFlag {
		flag, value := exampleDefault(root.Commands()[i])
		return fmt.Errorf("%s takes flags, as in %[1]s: {%s: %s}", command, flag, value)
	}
	known := flagsWithDefault(root.Commands()[i])
	if !slices.Contains(known, name) {
		return fmt.Errorf("%q is unknown in %q; %s", name, command, suggest.Word(name, known))
	}
	if value != nil && reflect.TypeOf(value).Kind() == reflect.Slice {
		return fmt.Errorf("%s takes one value, not a list", key)
	}
	return nil
}
