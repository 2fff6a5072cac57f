package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"

	"github.com/spf13/cobra"

	"metasim/record"
	"metasim/record/replay"
	"metasim/run"
)

func newReplay(std streams) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "replay RUN_DIR [--client NAME [-- COMMAND...]]",
		Short: "Do a recorded run again, or one client of it alone, and check that it comes out the same",
		Long: "Without --client: step a fresh dispatcher through every event of the run, and check every effect.\n\n" +
			"With --client: run that client alone, at full speed, against what was delivered to it then, and check that it sends\n" +
			"exactly what it sent then. The same program runs as then: a built-in model, or the command of the scenario. A command\n" +
			"after -- runs instead, for example a debugger: there is no time limit.\n\n" +
			"Exit status: 0 the same; 1 different, and the first difference is printed, or it could not be checked; 2 bad usage,\n" +
			"or no run to replay; 3 the same as far as recorded: the run was killed, or its journal breaks off; or as far as\n" +
			"a command after -- went, which was lost again, and earlier.",
		Example: "  metasim replay runs/ping-pong-1\n" +
			"  metasim replay runs/arm-3 --client controller -- gdb --args ./controller --fast",
		Args: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				args = args[:dash]
			}
			return exactly(1, "one run directory")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 && name == "" {
				return badUsage(errors.New("the command after -- runs as a client, but none is named; use --client NAME"))
			}
			if cmd.ArgsLenAtDash() >= 0 && len(args) == 1 {
				return badUsage(errors.New("no command after --; name one, or leave -- out"))
			}
			r, err := record.OpenToReplay(args[0])
			if err != nil {
				return badUsage(err)
			}
			if name != "" {
				return replayClient(cmd.Context(), r, name, args[1:], std)
			}
			return replayDispatcher(r, std)
		},
	}
	cmd.Flags().StringVar(&name, "client", "", "replay only the client of this `name`")
	return cmd
}

// replayDispatcher replays the run as a whole.
func replayDispatcher(r *record.Run, std streams) error {
	a, err := replay.Dispatcher(r)
	if err != nil {
		return unread(err)
	}
	if a.Difference != nil {
		return failed(a.Difference)
	}
	if r.Killed() {
		fmt.Fprintln(std.err, "note: the run was killed, and is replayed as far as it was recorded")
	}
	fmt.Fprintf(std.out, "the same: %d events in %d entries, %d effects\n", a.Events, a.Entries, a.Effects)
	printDigests(std.out, a.Digest, a.SendsDigest, a.ResultsDigest)
	return goodPart(a.Torn, r.Killed())
}

// goodPart returns the failure of a replay that could check only the beginning of a run. It returns nil if all was checked.
func goodPart(torn error, killed bool) error {
	if torn != nil {
		return withStatus(asRecorded, fmt.Errorf("only the good part of the journal was checked: %w", torn))
	}
	if killed {
		return &failure{status: asRecorded, err: errors.New("the run was killed"), printed: true}
	}
	return nil
}

// replayClient replays one client.
func replayClient(ctx context.Context, r *record.Run, name string, command []string, std streams) error {
	o := run.ReplayOptions{Command: command, Stdout: raw(std.out), Stderr: raw(std.err)}
	if len(command) > 0 {
		o.Stdin = std.in
		var release func()
		ctx, release = withoutInterrupt(ctx)
		defer release()
	}
	c, err := run.ReplayClient(ctx, r, name, o)
	if errors.As(err, new(*record.UnknownClientError)) {
		return badUsage(err)
	}
	if elsewhere := new(record.ElsewhereError); errors.As(err, &elsewhere) {
		return badUsage(fmt.Errorf("%w; replay that run", err))
	}
	if err != nil {
		return failed(err)
	}
	if c.Difference != nil {
		return failed(c.Difference)
	}
	if c.Missing > 0 {
		fmt.Fprintf(std.out, "the same as far as it went: %s was given %d messages and sent %d of the %d that it sent then; the end: %s\n",
			name, c.Delivered, c.Sent, c.Sent+c.Missing, c.End)
		return &failure{status: asRecorded, err: errors.New("the client was lost before it had sent all that it sent then"), printed: true}
	}
	fmt.Fprintf(std.out, "the same: %s was given %d messages and sent %d; the end: %s\n", name, c.Delivered, c.Sent, c.End)
	return goodPart(c.Torn, c.CutOff)
}

// withoutInterrupt returns a context that does not end with Ctrl-C: at a terminal, Ctrl-C is for the debugger, which also
// receives it.
func withoutInterrupt(ctx context.Context) (context.Context, func()) {
	ignored := make(chan os.Signal, 1) // while the signal goes to a channel, it does not end this program
	signal.Notify(ignored, os.Interrupt)
	without, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	unwatch := context.AfterFunc(ctx, func() {
		var stopped interrupted
		if cause := context.Cause(ctx); !errors.As(cause, &stopped) || stopped.signal != os.Interrupt {
			cancel(cause)
		}
	})
	return without, func() {
		unwatch()
		cancel(nil)
		signal.Stop(ignored)
	}
}
