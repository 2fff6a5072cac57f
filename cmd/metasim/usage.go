package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// exactlyOne wants one argument.
func exactlyOne(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("%s takes one %s, not %d; see %s --help", cmd.Name(), what, len(args), cmd.CommandPath())
		}
		return nil
	}
}

// nothing wants no argument.
func nothing(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("%s takes no arguments, but was given %q; leave them out", cmd.Name(), args)
	}
	return nil
}

// unknownCommand names the commands that may have been meant.
func unknownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	root.SuggestionsMinimumDistance = 2
	if near := root.SuggestionsFor(args[0]); len(near) > 0 {
		return fmt.Errorf("there is no command %q; did you mean %s?", args[0], strings.Join(near, " or "))
	}
	return fmt.Errorf("there is no command %q; see %s --help", args[0], root.CommandPath())
}

// parseCause is how the flag package's errors end: with the name of a Go function, which is nobody's business.
var parseCause = regexp.MustCompile(`: (?:strconv\.\w+: parsing .*: |parsing .*: )`)

// badFlag says what is wrong with a flag, and where to look.
func badFlag(cmd *cobra.Command, err error) error {
	return fmt.Errorf("%s; see %s --help", parseCause.ReplaceAllString(err.Error(), ": "), cmd.CommandPath())
}
