package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"metasim/record"
)

func newLog(std streams) *cobra.Command {
	var asJSON bool
	var name string
	var files exportFlags
	cmd := &cobra.Command{
		Use:   "log RUN_DIR",
		Short: "Print every message of a run",
		Long: "Print every message of a run, one line for each recipient, in the order of (due, recipient, delivery); messages\n" +
			"that were lost on the way come last.\n\n" +
			"With --lcm or --mcap: write them into files for other programs instead, in the order of simulated time. The files are\n" +
			"the same, byte for byte, for each repetition of the run.",
		Args: exactlyOne("run directory"),
		RunE: func(_ *cobra.Command, args []string) error {
			switch wanted, err := files.check(asJSON); {
			case err != nil:
				return badUsage(err)
			case wanted:
				return exportLog(args[0], name, &files, std)
			}
			l, err := record.ReadLog(args[0])
			if err != nil {
				return badUsage(err)
			}
			if name != "" {
				if err := l.Only(name); err != nil {
					return badUsage(err)
				}
			}
			if err := printLog(l, asJSON, std); err != nil {
				return failed(err)
			}
			if l.Torn != nil {
				return failed(l.Torn)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line, with the payloads")
	cmd.Flags().StringVar(&name, "client", "", "only messages from or to the client of this `name`; with --lcm, from it (--sent) or to it (--delivered)")
	files.add(cmd)
	return cmd
}

func printLog(l *record.Log, asJSON bool, std streams) error {
	w := bufio.NewWriter(std.out)
	if asJSON {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		for i := range l.Messages {
			if err := e.Encode(&l.Messages[i]); err != nil {
				return err
			}
		}
		return w.Flush()
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "due\tsent\tfrom\tto\tchannel\tseq\tsize\n")
	for _, p := range l.Messages {
		due := "lost"
		if p.Due != nil {
			due = p.Due.String()
			if p.Undelivered {
				due += " (undelivered)"
			}
		}
		fmt.Fprintf(t, "%s\t%v\t%s\t%s\t%s\t%d\t%d\n", due, p.Sent, p.From, p.To, p.Channel, p.Seq, p.Size)
	}
	return errors.Join(t.Flush(), w.Flush())
}
