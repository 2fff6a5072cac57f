// Package netns gives a package's tests a network of their own: a loopback interface that carries multicast, and nothing
// else. So these tests and other programs do not disturb one another, and the setup of the host does not matter.
package netns

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// inside is set for the process that runs in the network.
const inside = "METASIM_TEST_NETNS"

// Main runs a package's tests in a network of their own; call it from TestMain and exit with what it returns. Where the
// system has no namespaces for networks, or does not give one, the tests run in the host's network, and it says so.
func Main(m *testing.M) int {
	if os.Getenv(inside) != "" {
		return m.Run()
	}
	wrap := wrapper()
	if wrap == nil {
		fmt.Fprintln(os.Stderr, "SKIPPED LOUDLY: no network namespace is to be had, so multicast is the host's, if it has any")
		return m.Run()
	}
	cmd := exec.Command(wrap[0], append(wrap[1:], os.Args...)...)
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		return exit.ExitCode()
	case err != nil:
		fmt.Fprintln(os.Stderr, "the tests cannot be started in a network of their own:", err)
		return 1
	}
	return 0
}

// Given reports whether these tests have a network of their own.
func Given() bool { return os.Getenv(inside) != "" }

// setup prepares the network and becomes the command that follows.
const setup = `ip link set lo up multicast on && ip route add 224.0.0.0/4 dev lo && exec "$0" "$@"`

// wrapper is what to put before a command to run it in a network of its own; nil if there is none.
func wrapper() []string {
	for _, flags := range []string{"-n", "-rn"} { // as root, else in a user namespace of its own
		wrap := []string{"unshare", flags, "sh", "-c", setup}
		if exec.Command(wrap[0], append(wrap[1:], "true")...).Run() == nil {
			return wrap
		}
	}
	return nil
}
