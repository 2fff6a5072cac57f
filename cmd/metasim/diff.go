package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"metasim/lcm/types"
	"metasim/record/compare"
)

func newDiff(std streams) *cobra.Command {
	var asJSON bool
	var typesDir string
	cmd := &cobra.Command{
		Use:   "diff RUN_DIR_A RUN_DIR_B",
		Short: "Find the first message in which two runs differ, and whose doing it is",
		Long: "Find the first message in which two recorded runs differ, and the client whose doing it is: the earliest one that was\n" +
			"given the same and sent something else.\n\nExit status: 0 equal, 1 different.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("diff takes two run directories, not %d; see metasim diff --help", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			var known *types.Set
			if typesDir != "" {
				var err error
				if known, err = types.Load(typesDir); err != nil {
					return &failure{status: 2, err: err}
				}
			}
			v, err := compare.Runs(args[0], args[1], known)
			if err != nil {
				return &failure{status: 2, err: err}
			}
			if err := printComparison(v, asJSON, std); err != nil {
				return failed(err)
			}
			if !v.Equal {
				return &failure{status: 1, err: errors.New("the runs differ"), printed: true}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object, and nothing else, on stdout")
	cmd.Flags().StringVar(&typesDir, "types", "", "decode payloads by the .lcm files of this `directory`")
	return cmd
}

func printComparison(v *compare.Verdict, asJSON bool, std streams) error {
	if asJSON {
		return printJSON(std.out, v)
	}
	for _, note := range v.Notes {
		fmt.Fprintf(std.err, "note: %s\n", note)
	}
	var text bytes.Buffer
	if v.Equal {
		text.WriteString("equal\n")
	} else {
		printDivergence(&text, v)
	}
	_, err := std.out.Write(text.Bytes())
	return err
}

func printDivergence(w io.Writer, v *compare.Verdict) {
	d := v.First
	switch {
	case d.To != "":
		fmt.Fprintf(w, "different at %v: %s to %s on %s\n", d.At, d.From, d.To, d.Channel)
	case d.Channel != "":
		fmt.Fprintf(w, "different at %v: %s on %s, to nobody\n", d.At, d.From, d.Channel)
	default:
		fmt.Fprintf(w, "different at %v: how %s leaves\n", d.At, d.From)
	}
	a, b := d.A.Describe(d.B), d.B.Describe(d.A)
	fmt.Fprintf(w, "  A: %s\n  B: %s\n", a, b)
	if v.Culprit == "" {
		fmt.Fprintf(w, "no client's doing: all that was sent before is the same, so the links are not\n")
		return
	}
	fmt.Fprintf(w, "the doing of %s, at %v: what it was given until then is the same, what it sent is not\n", v.Culprit, v.CulpritAt)
}
