package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"metasim/federates/catalog"
	"metasim/run"
)

// newMan writes the manual for `make release`. It is not cobra's own writer, as that takes the long help for Markdown: it would join the lines
// of our lists.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use: "man DIR", Short: "Write the pages of the manual into a directory", Hidden: true, Args: exactly(1, "one directory"),
		RunE: func(cmd *cobra.Command, args []string) error { return failed(writeManual(cmd.Root(), args[0])) },
	}
}

// writeManual writes a page for each command, and one for the models.
func writeManual(root *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	pages := map[string][]byte{"metasim-models.7": modelsPage()}
	for cmd := range commandsBelow(root) {
		if cmd == root || cmd.IsAvailableCommand() {
			pages[pageName(cmd)+".1"] = commandPage(cmd)
		}
	}
	var errs []error
	for name, page := range pages {
		errs = append(errs, os.WriteFile(filepath.Join(dir, name), page, 0o644))
	}
	return errors.Join(errs...)
}

func pageName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

func commandPage(cmd *cobra.Command) []byte {
	var b bytes.Buffer
	pageHead(&b, pageName(cmd), "1", cmd.Short)
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(cmd.UseLine()))
	long := cmd.Long
	if long == "" {
		long = cmd.Short + "."
	}
	b.WriteString(".SH DESCRIPTION\n")
	prose(&b, long)
	if cmd.HasAvailableSubCommands() {
		b.WriteString(".SH COMMANDS\n")
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&b, ".TP\n.BR %s (1)\n%s\n", roff(pageName(sub)), roff(sub.Short))
			}
		}
	}
	if cmd.HasAvailableFlags() {
		b.WriteString(".SH OPTIONS\n")
		cmd.Flags().VisitAll(func(f *pflag.Flag) { option(&b, f) })
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(cmd.Example))
	}
	b.WriteString(".SH SEE ALSO\n")
	if cmd.HasParent() {
		fmt.Fprintf(&b, ".BR %s (1),\n", roff(pageName(cmd.Parent())))
	}
	b.WriteString(".BR metasim\\-models (7)\n")
	return b.Bytes()
}

func pageHead(b *bytes.Buffer, name, section, short string) {
	fmt.Fprintf(b, ".TH %s %s \"\" \"metasim %s\" \"metasim\"\n.SH NAME\n%s \\- %s\n", roff(strings.ToUpper(name)), section, roff(run.BuildVersion()), roff(name),
		roff(short))
}

func option(b *bytes.Buffer, f *pflag.Flag) {
	if f.Hidden {
		return
	}
	value, usage := pflag.UnquoteUsage(f)
	name := "--" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", " + name
	}
	fmt.Fprintf(b, ".TP\n\\fB%s\\fR", roff(name))
	if value != "" {
		fmt.Fprintf(b, " \\fI%s\\fR", roff(value))
	}
	fmt.Fprintf(b, "\n%s\n", roff(strings.Join(strings.Fields(usage), " ")))
	if d := f.DefValue; d != "" && d != "false" && d != "[]" && d != "0" && !strings.Contains(usage, "default") {
		fmt.Fprintf(b, "Default: %s.\n", roff(d))
	}
}

// modelsPage lists the built-in models with their parameters.
func modelsPage() []byte {
	var b bytes.Buffer
	pageHead(&b, "metasim-models", "7", "the built-in models of metasim, and their parameters")
	b.WriteString(".SH DESCRIPTION\nA client of a scenario is a model with parameters under\n.B with\nor a program of its own. These are the models.\n")
	for _, m := range catalog.Models() {
		fmt.Fprintf(&b, ".SS %s\n%s.\n", roff(m.Name), roff(m.Doc))
		for _, p := range m.Params {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s.\n", roff(p.Name), roff(p.Doc))
			switch {
			case p.Required:
				b.WriteString("Required.\n")
			case p.Default != nil:
				fmt.Fprintf(&b, "Default: %s.\n", roff(fmt.Sprint(p.Default)))
			}
		}
	}
	fmt.Fprintf(&b, ".SH TRANSPORTS\n%s. The first keeps models in the process of the server.\n", roff(strings.Join(run.Transports, ", ")))
	b.WriteString(".SH SEE ALSO\n.BR metasim (1),\n.BR metasim\\-run (1)\n")
	return b.Bytes()
}

// prose writes paragraphs, which are filled, and lines that begin with a blank, which stay as they are.
func prose(b *bytes.Buffer, text string) {
	asItIs := false
	for line := range strings.SplitSeq(text, "\n") {
		if listed := strings.HasPrefix(line, " "); listed != asItIs && line != "" {
			asItIs = listed
			b.WriteString(map[bool]string{true: ".nf\n", false: ".fi\n"}[listed])
		}
		if line == "" && !asItIs {
			line = ".PP"
		} else {
			line = roff(line)
		}
		b.WriteString(line + "\n")
	}
	if asItIs {
		b.WriteString(".fi\n")
	}
}

// roff writes text that no line of is a request, and whose signs stay what they are.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`).Replace(text)
	if strings.HasPrefix(text, ".") {
		text = `\&` + text
	}
	return strings.ReplaceAll(text, "\n.", "\n\\&.")
}
