package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// configured returns the verb, with its flags as the arguments, the environment and a configuration file say.
func configured(t *testing.T, config string, args ...string) (*cobra.Command, error) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", dir)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "metasim"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "metasim", "config.yaml"), []byte(config), 0o644))
	cmd, rest, err := newRoot(streams{}).Find(args)
	require.NoError(t, err)
	require.NoError(t, cmd.ParseFlags(rest))
	return cmd, cmd.PreRunE(cmd, nil)
}

// A flag on the command line comes first, then the environment, then the file, then the built-in default.
func TestDefaultsPrecedence(t *testing.T) {
	const config = "run: {transport: unix, stall: 7s, pack: 3, http-outside: true}\nserve: {transport: tcp}\nbench:\n"
	t.Setenv("METASIM_RUN_STALL", "8s")
	t.Setenv("METASIM_RUN_PACK", "4")
	t.Setenv("METASIM_RUN_SEED", "9")
	t.Setenv("METASIM_RUN_LISTEN", "")
	cmd, err := configured(t, config, "run", "--pack", "5")
	require.NoError(t, err)
	for flag, want := range map[string]string{
		"pack": "5", "stall": "8s", "transport": "unix", "http-outside": "true", "json": "false", "seed": "", "listen": "",
	} {
		require.Equal(t, want, cmd.Flag(flag).Value.String(), flag)
	}
	cmd, err = configured(t, config, "serve")
	require.NoError(t, err)
	require.Equal(t, "tcp", cmd.Flag("transport").Value.String())
	require.Equal(t, "10s", cmd.Flag("stall").Value.String(), "what is said of run is not said of serve")
	t.Setenv("METASIM_BENCH_QUICK", "true")
	cmd, err = configured(t, config, "bench")
	require.NoError(t, err)
	require.Equal(t, "true", cmd.Flag("quick").Value.String())
	require.Contains(t, cmd.Long, "METASIM_BENCH_JSON=true")
}

// What the help of a command gives as an example is taken.
func TestDefaultsOfTheHelp(t *testing.T) {
	for _, c := range []struct{ command, flag string }{{"run", "json"}, {"serve", "json"}, {"resume", "json"}, {"relay", "verbose"}, {"bench", "json"}} {
		cmd, err := configured(t, c.command+": {"+c.flag+": true}", c.command)
		require.NoError(t, err)
		require.Equal(t, "true", cmd.Flag(c.flag).Value.String())
		require.Contains(t, cmd.Long, "\n  "+c.command+": {"+c.flag+": true}")
		require.Contains(t, cmd.Long, envName(c.command, c.flag)+"=true")
		t.Setenv(envName(c.command, c.flag), "true")
		cmd, err = configured(t, "", c.command)
		require.NoError(t, err)
		require.Equal(t, "true", cmd.Flag(c.flag).Value.String())
		require.Empty(t, strayVariables(cmd, []string{envName(c.command, c.flag) + "=true"}))
	}
	cmd, err := configured(t, "", "authority", "simserver")
	require.NoError(t, err)
	require.Contains(t, cmd.Long, "METASIM_SIMSERVER_ANSWER=never")
	require.NotContains(t, cmd.Long, "config.yaml", "which has nothing of it")
}

// The whole file is checked, whatever the command; what is wrong is named, with what may have been meant.
func TestDefaultsRefuse(t *testing.T) {
	for config, says := range map[string]string{
		"runs: {json: true}":       `metasim/config.yaml: "runs" is unknown here; did you mean "run"?`,
		"run: {transprt: tcp}":     `metasim/config.yaml: "transprt" is unknown in "run"; did you mean "transport"?`,
		"serve: {pack: 3}":         `"pack" is unknown in "serve"; use `,
		"run: {seed: 3}":           `"seed" is unknown in "run"; `,
		"bench: {child: true}":     `"child" is unknown in "bench"; `,
		"run: 5":                   "run takes flags, as in run: {json: true}",
		"relay: 5":                 "relay takes flags, as in relay: {verbose: true}",
		"run: {stall: {for: 5s}}":  `"stall.for" is unknown in "run"; use durable, hosts, `,
		"run: {transport: [unix]}": "run.transport takes one value, not a list",
		"run: {stall: 5}":          `metasim/config.yaml: run.stall: invalid argument "5" for "--stall" flag`,
		"run: [":                   "metasim/config.yaml cannot be read: ",
	} {
		_, err := configured(t, config, "run")
		require.ErrorContains(t, err, says)
	}
	t.Setenv("METASIM_RUN_JSON", "maybe")
	_, err := configured(t, "run: {json: true}", "run")
	require.ErrorContains(t, err, `METASIM_RUN_JSON: invalid argument "maybe" for "--json" flag`)
	require.NotContains(t, err.Error(), "strconv")
}

// The environment reaches a run as it is started by a person.
func TestDefaultsOfARun(t *testing.T) {
	s := newStage(t)
	s.file("p.yaml", pingPong)
	e := s.start([]string{"METASIM_RUN_JSON=true"}, "run", "p.yaml").wait()
	require.Equal(t, 0, e.status)
	var o outcome
	e.object(t, &o)
	require.Equal(t, pingPongDigest, o.Digest)
	e = s.start([]string{"METASIM_RUN_PACK=many"}, "run", "p.yaml").wait()
	require.Equal(t, 2, e.status)
	e.says(t, "METASIM_RUN_PACK", `"many"`)
}

// A variable that looks like a flag's default, but belongs to no flag, gets a warning. The run goes on.
func TestStrayVariables(t *testing.T) {
	cmd, _, err := newRoot(streams{}).Find([]string{"run"})
	require.NoError(t, err)
	require.Equal(t, []string{
		"METASIM_BANANA is no variable of metasim; see metasim run --help",
		"METASIM_RUNN_STALL is no variable of metasim; did you mean METASIM_RUN_STALL?",
		"METASIM_RUN_BANANA is the default of no flag of metasim run; see metasim run --help",
		"METASIM_RUN_SEED is the default of no flag of metasim run; give --seed on the command line",
		"METASIM_RUN_TRANSPROT is the default of no flag of metasim run; did you mean METASIM_RUN_TRANSPORT?",
		"METASIM_RUN_http is the default of no flag of metasim run; did you mean METASIM_RUN_HTTP?",
		"METASIM_TOKN is no variable of metasim; did you mean METASIM_TOKEN?",
		"METASIM_TRANSPORT is no variable of metasim; did you mean METASIM_RUN_TRANSPORT?",
	}, strayVariables(cmd, []string{
		"METASIM_RUN_TRANSPROT=unix", "METASIM_RUN_HTTP_OUTSIDE=1", "METASIM_RUN_SEED=3", "METASIM_RUN_EMPTY=", "METASIM_SERVER=x",
		"METASIM_SERVE_TRANSPORTT=x", "METASIM_RUN_http=:1", "METASIM_RUN_BANANA=1", "HOME=/", "METASIM_RUN_STALL=8s",
		"METASIM_BANANA=1", "METASIM_TOKN=x", "METASIM_TRANSPORT=tcp", "METASIM_RUNN_STALL=1s", "METASIM_HTTP_TOKEN=x", "METASIM_CLIENT=a", "METASIM_TOKEN=x",
		"METASIM_SUPERVISOR=x",
	}))
	s := newStage(t)
	s.file("p.yaml", pingPong)
	e := s.start([]string{"METASIM_RUN_TRANSPROT=unix"}, "run", "p.yaml").wait()
	require.Equal(t, 0, e.status)
	e.says(t, "warning: METASIM_RUN_TRANSPROT is the default of no flag of metasim run; did you mean METASIM_RUN_TRANSPORT?")
}
