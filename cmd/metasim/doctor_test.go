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
		"[ \"$host\" = walled ] && SLURM_LAUNCH_NODE_IPADDR=198.51.100.1 exec sh -c \"$command\"\n"+ // an address for examples: nobody answers
		"echo \"no route to $host\" >&2\nexit 255\n"), 0o755))
	path := "PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH")
	e = s.start([]string{path}, "doctor", "--hosts", "there,gone,walled", "--remote", s.program, "--json").wait()
	require.Equal(t, 1, e.status)
	var r doctor.Report
	e.object(t, &r)
	require.Len(t, r.Hosts, 3)
	require.Equal(t, r.Metasim, r.Hosts[0].Metasim)
	require.Equal(t, "there", r.Hosts[0].Host)
	require.Regexp(t, `it reaches this host at .*:[0-9]+ over UDP, there and back in [0-9.]+(µs|ms)`, r.Hosts[0].Checks[2].Found)
	require.Contains(t, r.Hosts[1].Checks[0].Found, "no route to gone")
	require.Regexp(t, `^host walled cannot reach 198\.51\.100\.1:[0-9]+ over UDP: `, r.Hosts[2].Checks[2].Found)
	require.Contains(t, r.Hosts[2].Checks[2].Remedy, "--transport tls")
	e = s.start([]string{path}, "doctor", "--hosts", "there", "--remote", s.program, "--transport", "tls", "--listen", "127.0.0.1:0").wait()
	require.Regexp(t, `  good +reach +it reaches this host at 127\.0\.0\.1:[0-9]+ over TCP, `, e.out)
	e = s.start([]string{path}, "doctor", "--hosts", "gone").wait()
	require.Regexp(t, `\ngone\n  bad  metasim  no answer: ssh: no route to gone\n *-> see that this works, and asks for no password: ssh `, e.out)

	for args, says := range map[string]string{"--launch=slum": `did you mean "slurm"?`, "--launch=ssh": "--hosts node-1,node-2", "--hosts=-x": `"-x", which is no name of a host`, "--listen=:9": "name them with --hosts", "--transport=unix": "use quic or tls"} {
		e := s.metasim("doctor", args)
		require.Equal(t, 2, e.status)
		e.says(t, says)
	}
}
