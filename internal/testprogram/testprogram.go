// Package testprogram lets a test binary be the programs that its tests start: metasim's own clients, and clients of a
// scenario. So a test needs no other binary, and what it starts is a real process.
//
//	func TestMain(m *testing.M) { os.Exit(testprogram.Main(m, programs)) }
//
// Only tests import it.
package testprogram

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"

	"metasim/run"
	"metasim/run/supervisor"
)

// Variable is the environment variable that names the program which a test binary is to be. Where it is empty the binary
// is a test or, if its arguments say so as run.Options.Self describes, a built-in model or the supervisor of processes.
const Variable = "TEST_PROGRAM"

// A Program takes the arguments of its process. Where it fails, the process writes the error to stderr and exits with
// status 1, or with that of a Status.
type Program func(args []string) error

// A Status is an error that is an exit status, and says nothing.
type Status int

func (s Status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// Env returns the environment entry that makes a test binary the program called name.
func Env(name string) string { return Variable + "=" + name }

// Main is the program that the environment names, or runs the tests. It returns the exit status.
func Main(m *testing.M, programs map[string]Program) int {
	name, args := os.Getenv(Variable), os.Args[1:]
	program, known := programs[name]
	switch {
	case known:
	case name != "":
		program = func([]string) error {
			return fmt.Errorf("%s=%s names no program of this test; use one of %q", Variable, name, slices.Sorted(maps.Keys(programs)))
		}
	case len(args) == 3 && args[0] == "client" && args[1] == "--instance":
		program = Model
	case len(args) == 1 && args[0] == "cell":
		program = cell
	case len(args) == 1 && args[0] == "supervise":
		program = func([]string) error { return supervisor.Serve(os.Stdin, os.Stdout, run.BuildVersion()) }
	default:
		// A program that is built with the race detector stays for a second at its end: what the tests start need not.
		if err := os.Setenv("GORACE", os.Getenv("GORACE")+" atexit_sleep_ms=0"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		status := m.Run()
		if err := os.RemoveAll(shippedDir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return status
	}
	err := program(args)
	var status Status
	switch {
	case errors.As(err, &status):
		return int(status)
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// shippedDir is where the program of Shipped lies; empty if nobody has asked for it.
var shippedDir string

var shipped = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp(os.Getenv("GOTMPDIR"), "metasim-shipped")
	if err != nil {
		return "", err
	}
	shippedDir = dir
	file := filepath.Join(dir, "metasim")
	if runtime.GOOS == "windows" {
		file += ".exe"
	}
	info, _ := debug.ReadBuildInfo() // a test of a module has one
	if text, err := exec.Command("go", "build", "-buildvcs=false", "-tags", "grpcnotrace", "-ldflags=-s -w", "-o", file, info.Main.Path+"/cmd/metasim").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, text)
	}
	return file, nil
})

// Shipped returns the path of metasim as it ships, which is built once for a test binary. It is for what computes much, or starts many
// processes: with the race detector both take many times as long. What is concurrent is tested with it elsewhere.
func Shipped(t testing.TB) string {
	t.Helper()
	file, err := shipped()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// cell is the program that carries out a nested run in a process of its own.
func cell([]string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	return run.Cell(context.Background(), run.CellOptions{
		Name: os.Getenv("METASIM_CLIENT"), Server: os.Getenv("METASIM_SERVER"), Token: os.Getenv("METASIM_TOKEN"), Self: []string{self},
	})
}

// Model is the program that run.Options.Self stands for: a built-in model of a scenario, with the arguments
// "client --instance JSON". A test that is started as another program may be this one too.
func Model(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("a built-in model is started as: client --instance JSON, not %q", args)
	}
	in, err := run.ParseInstance(args[2])
	if err != nil {
		return err
	}
	parts, err := in.Parts(os.Getenv("METASIM_CLIENT"))
	if err != nil {
		return err
	}
	return run.TakePart(context.Background(), parts, os.Getenv("METASIM_SERVER"), os.Getenv("METASIM_TOKEN"))
}
