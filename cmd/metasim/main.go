// Command metasim runs several simulators, each in its own process, as one deterministic simulation.
//
// Exit status: 0 done, 1 the run failed, 2 bad usage or a bad scenario, 3 no difference as far as there is a record. docs/replay.md has
// a table.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"metasim/run"
)

func main() {
	// The kernel gives a signal to the main thread, and not to another one while the main thread waits for a disk that hangs. So the main thread does nothing.
	runtime.LockOSThread()
	collectLess()
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // it is ignored under nohup
		signal.Notify(signals, syscall.SIGHUP)
	}
	go func() {
		cancel(interrupted{<-signals})
		// The run ends its processes now. A second Ctrl-C would leave them behind, so it works only after cleanupTime.
		time.AfterFunc(cleanupTime, func() { signal.Stop(signals) })
	}()
	status := make(chan int)
	go func() {
		status <- execute(ctx, os.Args[1:], streams{in: os.Stdin, out: newOutlet(ctx, os.Stdout), err: newOutlet(ctx, os.Stderr)})
	}()
	os.Exit(<-status)
}

// cleanupTime is how long this program may take, after a signal, to end the processes that it has started.
const cleanupTime = 6 * time.Second

// execute runs one command line and returns the exit status.
func execute(ctx context.Context, args []string, std streams) int {
	std = std.plain()
	root := newRoot(std)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var f *failure
	if !errors.As(err, &f) {
		f = &failure{status: 2, err: err} // an unknown flag or command, from cobra
	}
	if !f.printed {
		fmt.Fprintln(std.err, f.text())
	}
	return f.status
}

func newRoot(std streams) *cobra.Command {
	root := &cobra.Command{
		Use:           "metasim",
		Short:         "Run several simulators as one deterministic simulation",
		Long:          "metasim runs several simulators, each in its own process, as one deterministic simulation,\nas fast as the delays between them allow.",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	root.Flags().Bool("version", false, "print the version") // without a shorthand: -v means verbose elsewhere
	root.SetFlagErrorFunc(badFlag)
	root.Args = unknownCommand
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if version, err := cmd.Flags().GetBool("version"); version || err != nil {
			return errors.Join(err, printVersion(std))
		}
		return cmd.Help()
	}
	root.AddCommand(
		newRun(std), newServe(std), newSweep(std), newClient(), newCell(std), newSupervise(std), newRelay(std),
		newValidate(std), newSchema(std), newVerify(std),
		newLog(std), newLogs(std), newLCM(std),
		newReplay(std), newResume(std), newFsck(std), newDiff(std), newDoctor(std), newReach(std),
		newReport(std), newBench(std), newWhy(std), newCtl(std),
		newWorld(std), newLockStepRuntime(), newFollower(std), newAuthority(std),
		newVersion(std), newDemo(std), newInit(std), newClean(std), newMan(),
	)
	addCompletions(root)
	return root
}

func newVersion(std streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  nothing,
		RunE:  func(*cobra.Command, []string) error { return printVersion(std) },
	}
}

func printVersion(std streams) error {
	_, err := fmt.Fprintln(std.out, "metasim", run.BuildVersion())
	return failed(err)
}
