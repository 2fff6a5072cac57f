package run_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/client"
)

var _ = also("parricide", parricide)

// parricide joins, and then kills the process of its nested run, which is that above its supervisor.
func parricide(args []string) error {
	if err := os.WriteFile(args[0], []byte(strconv.Itoa(os.Getpid())), 0o600); err != nil {
		return err
	}
	if _, err := client.NewBuilder("").Complete(context.Background()); err != nil {
		return err
	}
	pid, err := cellOf(os.Getpid())
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil {
		return err
	}
	return forever()
}

// cellOf returns the process of the nested run that a client is in: the one above its supervisor.
func cellOf(pid int) (int, error) {
	for range 2 {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return 0, err
		}
		var state rune
		_, after, _ := strings.Cut(string(stat), ") ")
		if _, err := fmt.Sscanf(after, "%c %d", &state, &pid); err != nil {
			return 0, err
		}
	}
	if cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err != nil || !strings.HasSuffix(string(cmdline), "\x00cell\x00") {
		return 0, fmt.Errorf("process %d is no nested run, but %q (%w)", pid, cmdline, err)
	}
	return pid, nil
}

// The process of a nested run that is killed ends the run with a sentence that names it, and nothing is left of it.
func TestNestedProcessKilled(t *testing.T) {
	t.Parallel()
	sign := filepath.Join(t.TempDir(), "sign")
	sc := composed(t, `{name: outer, until: 10s, clients: [{name: cell, model: scenario, with: {file: 1.yaml, expose: [OUT]}}, {name: ear, model: sink, with: {channels: [OUT]}}]}`, strings.ReplaceAll(
		`{name: cell, clients: [{name: prog, run: [BIN, SIGN], env: [TEST_PROGRAM=parricide]}, {name: a, model: source, with: {channel: OUT, period: 1ms}}]}`, "SIGN", sign))
	o := options(t, "mem")
	o.Apart = true
	out := fails(t, t.Context(), sc, o)
	require.Contains(t, out.Error, `the process of the scenario inside "cell" was lost at `)
	require.Contains(t, out.Error, "signal: killed")
	require.Len(t, out.Clients, 3)
	pid, err := os.ReadFile(sign)
	require.NoError(t, err)
	n, err := strconv.Atoi(string(pid))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return syscall.Kill(n, 0) != nil }, time.Minute, 10*time.Millisecond, "the programs of the nested run end with it")
}
