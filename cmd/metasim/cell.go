package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"metasim/run"
)

// newCell is the process of a nested run; see run.Options.Apart.
func newCell(std streams) *cobra.Command {
	return &cobra.Command{
		Use: "cell", Short: "Carry out a nested run, as metasim run --nested-processes starts it", Hidden: true, Args: nothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			self, err := os.Executable()
			if err != nil {
				return failed(fmt.Errorf("this program cannot find its own file: %w", err))
			}
			return failed(run.Cell(cmd.Context(), run.CellOptions{
				Name: os.Getenv("METASIM_CLIENT"), Server: os.Getenv("METASIM_SERVER"), Token: os.Getenv("METASIM_TOKEN"),
				Self: []string{self}, Log: newLogger(std.err, false),
			}))
		},
	}
}
