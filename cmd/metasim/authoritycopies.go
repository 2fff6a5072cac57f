package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"metasim/federates/authority/home"
	"metasim/federates/authority/homeserver"
	"metasim/internal/atomicfile"
)

// authorityCopy has the flags of metasim authority export and import.
type authorityCopy struct {
	data, instance, pattern, out string
	etcd                         []string
	verbose                      bool
}

func (a *authorityCopy) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&a.data, "data", "", "the `directory` of the homeserver, which may not work meanwhile")
	flags.StringSliceVar(&a.etcd, "etcd", nil, "the tree is in a cluster of etcd, at these `URLs`; homeservers may work on it meanwhile (default: in a file of --data)")
	flags.StringVar(&a.instance, "instance", "metasim", "the logical instance, a `name`: a tree of another one is refused")
	flags.BoolVarP(&a.verbose, "verbose", "v", false, "log what happens")
}

func newAuthorityExport(std streams) *cobra.Command {
	var a authorityCopy
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write what a homeserver keeps, as lines of JSON",
		Long: "Write what a homeserver keeps: accounts, the digests of their tokens, keys, entities, and what waits for masters. Each line is JSON, and makes one node of the tree.\n" +
			"metasim authority import reads them. Versions, so ETags, begin again there.\n\n" +
			"Exit status: 0 all was written; 1 the tree cannot be read; 2 bad usage.",
		Example: "  metasim authority export --data home --out all.jsonl\n  metasim authority export --data home --pattern '/entities/ball-*'",
		Args:    nothing,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.export(cmd, std) },
	}
	a.flags(cmd)
	cmd.Flags().StringVar(&a.pattern, "pattern", "/**", "which nodes: a path in which * stands for any characters of a name and ** for any names, a `pattern`")
	cmd.Flags().StringVar(&a.out, "out", "", "write to this `file`, which only its owner reads, when all is there (default: the standard output)")
	return cmd
}

func newAuthorityImport(std streams) *cobra.Command {
	var a authorityCopy
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Have a homeserver keep what metasim authority export wrote",
		Long: "Have a homeserver keep what metasim authority export wrote: the nodes in FILE, or in the standard input if it is -, are put into the tree. What else is there stays.\n" +
			"A line that is none changes nothing. The audit log of --data has a line of it.\n\n" +
			"Exit status: 0 all was put there; 1 it was not, or not all of it; 2 bad usage.",
		Example: "  metasim authority import --data other all.jsonl",
		Args:    exactly(1, "one file, or -"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.read(cmd, std, args[0]) },
	}
	a.flags(cmd)
	return cmd
}

func (a *authorityCopy) options(std streams) homeserver.Options {
	return homeserver.Options{Home: home.Config{Instance: a.instance}, Dir: a.data, Etcd: a.etcd, Log: newLogger(std.err, a.verbose)}
}

// copyFailed tells bad usage from what failed.
func copyFailed(err error) error {
	var config *homeserver.ConfigError
	var name *home.ConfigError
	if errors.As(err, &config) || errors.As(err, &name) {
		return badUsage(err)
	}
	return failed(err)
}

func (a *authorityCopy) export(cmd *cobra.Command, std streams) error {
	if a.out == "" {
		return copyFailed(homeserver.Export(cmd.Context(), a.options(std), raw(std.out), a.pattern))
	}
	f, err := atomicfile.Create(a.out, 0o600)
	if err != nil {
		return failed(err)
	}
	if err := homeserver.Export(cmd.Context(), a.options(std), f, a.pattern); err != nil {
		return copyFailed(errors.Join(err, f.Discard()))
	}
	return failed(f.Commit())
}

func (a *authorityCopy) read(cmd *cobra.Command, std streams, name string) error {
	if a.data == "" {
		return badUsage(errors.New("--data is missing; name the directory of the homeserver: its audit log says what was imported"))
	}
	in := std.in
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return failed(err)
		}
		defer f.Close()
		in = f
	}
	done, err := homeserver.Import(cmd.Context(), a.options(std), in, name)
	if err != nil {
		return copyFailed(fmt.Errorf("%d nodes were written: %w", done, err))
	}
	fmt.Fprintf(std.err, "%d nodes were written\n", done)
	return nil
}
