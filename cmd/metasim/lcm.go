package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"metasim/lcm/inspect"
	"metasim/lcm/types"
	"metasim/metasim"
)

func newLCM(std streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lcm",
		Short: "Look into event logs of LCM",
		Long: "Look into event logs of LCM, as lcm-logger writes them. With --types, messages are decoded by .lcm files; a message\n" +
			"tells its type by the first 8 bytes, whatever channel it is on.",
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newLCMInfo(std), newLCMCat(std))
	return cmd
}

// addTypes adds the flag that names .lcm files.
func addTypes(cmd *cobra.Command, paths *[]string) {
	cmd.Flags().StringArrayVar(paths, "types", nil, "decode by the .lcm files in this `directory` and below; may be repeated")
}

// openLog opens an event log, and loads the types that a flag names.
func openLog(path string, typePaths []string) (*types.Set, *os.File, error) {
	known, err := types.Load(typePaths...)
	if err != nil {
		return nil, nil, err
	}
	log, err := os.Open(path)
	return known, log, err
}

// logFailure is the failure of a command for a log that is damaged; for a file that is no log it is bad usage.
func logFailure(damage error) error {
	var d *inspect.DamageError
	if errors.As(damage, &d) && d.Empty {
		return badUsage(damage)
	}
	return failed(damage)
}

func newLCMInfo(std streams) *cobra.Command {
	var asJSON bool
	var paths []string
	cmd := &cobra.Command{
		Use:   "info FILE",
		Short: "Summarize an event log",
		Long:  "Summarize an event log: its span of time, its channels with counts, rates, sizes and types, and what is damaged.",
		Args:  exactly(1, "one log"),
		RunE: func(_ *cobra.Command, args []string) error {
			known, log, err := openLog(args[0], paths)
			if err != nil {
				return badUsage(err)
			}
			defer func() { _ = log.Close() }() // it was only read
			s, check, err := inspect.Summarize(args[0], log, known)
			if err != nil {
				return badUsage(err)
			}
			damage := logFailure(check.Damage(args[0]))
			switch {
			case check.Events == 0 && damage != nil:
				return damage
			case asJSON:
				err = printJSON(std.out, s)
			default:
				err = s.WriteText(std.out)
			}
			return errors.Join(failed(err), damage)
		},
	}
	addTypes(cmd, &paths)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func newLCMCat(std streams) *cobra.Command {
	var asJSON bool
	var paths []string
	var pattern string
	cmd := &cobra.Command{
		Use:   "cat FILE",
		Short: "Print the messages of an event log",
		Long: "Print the messages of an event log, one a line, in the order of the file: seconds, channel, and the message as JSON,\n" +
			"or in hexadecimal digits if it is of no known type.",
		Args: exactly(1, "one log"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := metasim.CheckSubscription(pattern); pattern != "" && err != nil {
				return badUsage(fmt.Errorf("--channel %q is no channel and no pattern: %w; write it as \"POSE_.*\"", pattern, err))
			}
			known, log, err := openLog(args[0], paths)
			if err != nil {
				return badUsage(err)
			}
			defer func() { _ = log.Close() }() // it was only read
			w := bufio.NewWriter(std.out)
			p, err := inspect.Print(w, log, inspect.PrintOptions{JSON: asJSON, Types: known, Channels: pattern})
			if flushed := w.Flush(); flushed != nil { // err is the same, if there is one
				return failed(flushed)
			}
			if err != nil {
				return badUsage(err)
			}
			if text := p.Disorder(); text != "" {
				fmt.Fprintf(std.err, "warning: %s\n", text)
			}
			if p.Bad > 0 {
				fmt.Fprintf(std.err, "warning: %d messages have the fingerprint of a type and are none; the first is event %d: %v\n",
					p.Bad, p.FirstBad, p.Why)
			}
			return logFailure(p.Damage(args[0]))
		},
	}
	addTypes(cmd, &paths)
	cmd.Flags().StringVar(&pattern, "channel", "", "only the channel of this name, or those that this regular `expression` matches as a whole")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}
