package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/run/doctor"
)

// What a host lacks is said, of others over ssh too: ssh is a script here, which starts the command on this host.
func TestDoctor(t *testing.T) {
	s := newStage(t)
	e := s.metasim("doctor")
	require.Contains(t, []int{0, 1}, e.status, e.err)
	require.Contains(t, e.out, "descriptors")
	require.Empty(t, e.err)

	bin := filepath.Join(s.dir, "bin")
	require.NoError(t, os.Mkdir(bin, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(bin, "ssh"), []byte("#!/bin/sh\nfor last; do host=$command; command=$last; done\n[ \"$host\" = there ] && exec sh -c \"$command\"\n"+
		"echo \"no route to $host\" >&2\nexit 255\n"), 0o755))
	path := "PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH")
	e = s.start([]string{path}, "doctor", "--hosts", "there,gone", "--remote", s.program, "--json").wait()
	require.Equal(t, 1, e.status)
	var r doctor.Report
	e.object(t, &r)
	require.Len(t, r.Hosts, 2)
	require.Equal(t, r.Metasim, r.Hosts[0].Metasim)
	require.Equal(t, "there", r.Hosts[0].Host)
	require.Contains(t, r.Hosts[1].Checks[0].Found, "no route to gone")
	e = s.start([]string{path}, "doctor", "--hosts", "gone").wait()
	require.Regexp(t, `\ngone\n  bad  metasim  no answer: ssh: no route to gone\n *-> see that this works, and asks for no password: ssh `, e.out)

	for args, says := range map[string]string{"--launch=slum": `did you mean "slurm"?`, "--launch=ssh": "--hosts node-1,node-2", "--hosts=-x": `"-x", which is no name of a host`} {
		e := s.metasim("doctor", args)
		require.Equal(t, 2, e.status)
		e.says(t, says)
	}
}
