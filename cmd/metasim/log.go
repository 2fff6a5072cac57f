package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"metasim/metasim"
	"metasim/run"
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
				return &failure{status: 2, err: err}
			case wanted:
				return exportLog(args[0], name, &files, std)
			}
			l, err := run.ReadLog(args[0])
			if err != nil {
				return &failure{status: 2, err: err}
			}
			if name != "" {
				if !slices.Contains(l.Manifest.Clients, name) {
					return &failure{status: 2, err: fmt.Errorf("the run has no client %q; it has %q", name, l.Manifest.Clients)}
				}
				l.Passages = slices.DeleteFunc(l.Passages, func(p run.Passage) bool { return p.From != name && p.To != name })
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

func printLog(l *run.Log, asJSON bool, std streams) error {
	w := bufio.NewWriter(std.out)
	if asJSON {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		for i := range l.Passages {
			if err := e.Encode(&l.Passages[i]); err != nil {
				return err
			}
		}
		return w.Flush()
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "due\tsent\tfrom\tto\tchannel\tseq\tsize\n")
	for _, p := range l.Passages {
		due := "lost"
		if p.Due != nil {
			due = metasim.Instant(*p.Due).String()
			if p.Undelivered {
				due += " (undelivered)"
			}
		}
		fmt.Fprintf(t, "%s\t%v\t%s\t%s\t%s\t%d\t%d\n", due, metasim.Instant(p.Sent), p.From, p.To, p.Channel, p.Seq, p.Size)
	}
	return errors.Join(t.Flush(), w.Flush())
}
