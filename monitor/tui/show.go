package tui

import (
	"context"
	"errors"
	"io"

	tea "charm.land/bubbletea/v2"
)

// Show shows a run on a terminal until it is over, or ctx is done; then the terminal is as it was before. The last lines of
// notes are shown, too: what a program that has no terminal to itself would print.
func Show(ctx context.Context, r Run, notes func() []string, in io.Reader, out io.Writer) error {
	p := tea.NewProgram(&model{run: r, notes: notes}, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithoutSignalHandler())
	_, err := p.Run()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		return nil
	}
	return err
}
