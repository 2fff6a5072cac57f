package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/run/launch"
)

// programs puts shell scripts of these names before all other programs.
func programs(t *testing.T, scripts map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, script := range scripts {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func byName(t *testing.T, checks []Check) map[string]Check {
	t.Helper()
	all := map[string]Check{}
	for _, c := range checks {
		require.NotContains(t, all, c.Name)
		require.NotEmpty(t, c.Found)
		require.Equal(t, c.State == Poor || c.State == Bad, c.Remedy != "", "%s: whoever is told of a fault is told what mends it", c.Name)
		all[c.Name] = c
	}
	return all
}

// Whatever this machine is, each thing is looked at, and what is wrong has a remedy.
func TestThisHost(t *testing.T) {
	r := Examine(t.Context(), Options{Version: "1"})
	checks := byName(t, r.Checks)
	for _, name := range []string{"descriptors", "udp-buffers", "clock", "names", "ports"} {
		require.Contains(t, checks, name)
	}
	require.Equal(t, Good, checks["ports"].State)
	require.Empty(t, r.Hosts)
}

// Each figure on either side of its limit.
func TestLimits(t *testing.T) {
	dir := t.TempDir()
	size := func(read, write int) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "rmem_max"), fmt.Appendln(nil, read), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "wmem_max"), fmt.Appendln(nil, write), 0o600))
	}
	size(212992, 7500000)
	c := buffers(dir)
	require.Equal(t, Poor, c.State)
	require.Contains(t, c.Remedy, "sudo sysctl -w net.core.rmem_max=7500000")
	require.NotContains(t, c.Remedy, "wmem_max")
	size(7500000, 8000000)
	require.Equal(t, Check{Name: "udp-buffers", State: Good, Found: "rmem_max: 7500000 bytes, wmem_max: 8000000 bytes"}, buffers(dir))
	require.Equal(t, Good, buffers(filepath.Join(dir, "nowhere")).State)

	require.Equal(t, Good, files(4096).State)
	require.Contains(t, files(1024).Remedy, "ulimit -n 65536")

	require.Equal(t, Check{Name: "clock", State: Good, Found: "read in 50ns from tsc, synchronised"}, clock(50, "tsc", kept))
	require.Contains(t, clock(50, "", free).Found, "not synchronised")
	require.Contains(t, clock(2*time.Microsecond, "hpet", unknown).Remedy, "--no-trace")

	found := func(context.Context, string) ([]string, error) { return []string{"10.0.0.7"}, nil }
	require.Equal(t, Good, names(t.Context(), "node", found).State)
	require.Contains(t, names(t.Context(), "node", found).Found, "node is 10.0.0.7")
	c = names(t.Context(), "node", func(context.Context, string) ([]string, error) { return nil, errors.New("no such host") })
	require.Equal(t, Poor, c.State)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	c = names(over, "node", func(ctx context.Context, _ string) ([]string, error) { <-ctx.Done(); return nil, ctx.Err() })
	require.Contains(t, c.Found, "no DNS server answers")
	require.Contains(t, c.Remedy, "/etc/hosts")
}

// sinfo is what a cluster of four nodes says, in two partitions.
const sinfo = `cat <<-END
	n1|debug|idle|none
	n1|main*|idle|none
	n2|main*|mixed|none
	n3|main*|down*|Not responding
	n4|far|drained|disk
	END`

// Slurm is asked by its own programs; here scripts that say what they would.
func TestSlurm(t *testing.T) {
	good := map[string]string{"sinfo": sinfo, "srun": "exit 1", "munge": "echo MUNGE:x:", "unmunge": "read said; [ \"$said\" = MUNGE:x: ]"}
	programs(t, good)
	checks := byName(t, slurm(t.Context(), true))
	require.Equal(t, Good, checks["munge"].State, checks["munge"].Found)
	p := checks["partitions"]
	require.Equal(t, Bad, p.State, "a partition has no node")
	require.Equal(t, "debug: 1 of 1 nodes up, main: 2 of 3 nodes up, far: 0 of 1 nodes up; n3 is down* (Not responding), n4 is drained (disk)", p.Found)
	require.Contains(t, p.Remedy, "state=resume")
	good["scontrol"] = "echo 'AuthInfo                = ttl=60,socket=/run/other/munge'"
	good["munge"] = `[ "$*" = "-n --socket=/run/other/munge" ] && echo MUNGE:x:`
	programs(t, good)
	c := munge(t.Context())
	require.Equal(t, Good, c.State, c.Found)

	programs(t, map[string]string{"sinfo": "echo 'n1|main|idle|none'; echo 'n2|main|down|lost'"})
	require.Equal(t, Poor, partitions(t.Context()).State)
	programs(t, map[string]string{"sinfo": "true", "munge": "echo 'munge: Failed to connect to munged' >&2; exit 6"})
	require.Contains(t, partitions(t.Context()).Found, "no nodes")
	c = munge(t.Context())
	require.Equal(t, Bad, c.State)
	require.Contains(t, c.Found, "Failed to connect to munged")
	programs(t, map[string]string{"sinfo": "echo 'slurm_load_partitions: Unable to contact slurm controller' >&2; exit 1"})
	c = partitions(t.Context())
	require.Contains(t, c.Found, "Unable to contact slurm controller")
	require.Contains(t, c.Remedy, "scontrol ping")

	t.Setenv("PATH", t.TempDir())
	require.Equal(t, []Check{{Name: "slurm", State: Absent, Found: "there is no sinfo here"}}, slurm(t.Context(), false))
	require.Equal(t, Bad, slurm(t.Context(), true)[0].State)
}

// answer is what a host says that is asked, with this version and time.
func answer(version string, at time.Time) string {
	return fmt.Sprintf(`{"host":"itself","metasim":%q,"time":%q,"checks":[{"check":"ports","state":"good","found":"x"}]}`, version, at.Format(time.RFC3339Nano))
}

// Each host is asked for its version, its time, and what it lacks; ssh is a script here.
func TestHosts(t *testing.T) {
	now := time.Now()
	programs(t, map[string]string{"ssh": `for last; do host=$command; command=$last; done
case "$host $command" in
"same "*" reach") read told; case $told in *'"token":"'??????????*) echo '{"address":"10.0.0.7:9000","round_trip_ns":340000}' ;; esac ;;
"late "*" reach") echo '{"address":"10.0.0.7:9000","error":"nothing came back within 5s"}' ;;
*" reach") echo asked >&2; exit 3 ;;
"same "*) echo '` + answer("1", now) + `' ;;
"older "*) echo '` + answer("0", now) + `'; exit 1 ;;
"late "*) echo '` + answer("1", now.Add(-2*time.Hour)) + `' ;;
"silent "*) echo nonsense ;;
*) echo "ssh: Could not resolve hostname $host" >&2; exit 255 ;;
esac`})
	r := Examine(t.Context(), Options{Version: "1", Hosts: []string{"same", "older", "late", "silent", "gone"}, Remote: "/opt/it's/metasim"})
	require.Len(t, r.Hosts, 5)
	for i, want := range []struct {
		host  string
		state State
		found string
	}{
		{"same", Good, "it reaches this host at 10.0.0.7:9000 over UDP, there and back in 340µs"}, {"older", Bad, "0 there, 1 here"}, {"late", Bad, "its clock is 2h0m"},
		{"silent", Bad, "what it answers is not from metasim doctor"}, {"gone", Bad, "no answer: ssh: Could not resolve hostname gone"},
	} {
		h := r.Hosts[i]
		require.Equal(t, want.host, h.Host)
		byName(t, h.Checks)
		require.Equal(t, want.state, h.Worst(), want.host)
		require.Contains(t, fmt.Sprint(h.Checks), want.found)
	}
	require.Equal(t, Bad, r.Worst())
	c := byName(t, r.Hosts[2].Checks)["reach"]
	require.Equal(t, "host late cannot reach 10.0.0.7:9000 over UDP: nothing came back within 5s", c.Found)
	require.Regexp(t, "^open UDP to .*--listen.*--transport tls", c.Remedy)
	r = Examine(t.Context(), Options{Version: "1", Hosts: []string{"same"}, Listen: "192.0.2.1:9"})
	require.Equal(t, Bad, byName(t, r.Checks)["listen"].State, "that is no address of this host")
	require.NotContains(t, byName(t, r.Hosts[0].Checks), "reach")
	argv := launch.SSH{}.Command("h", "/opt/it's/metasim", "doctor", "--json")
	require.Equal(t, `'/opt/it'\''s/metasim' doctor --json`, argv[len(argv)-1])
}

// The nodes of a cluster are asked once each, those that are up.
func TestNodes(t *testing.T) {
	programs(t, map[string]string{
		"sinfo": sinfo, "munge": "echo x", "unmunge": "cat >/dev/null",
		"srun":     `case "$*" in *--nodelist=n1*--partition=main*" /opt/metasim doctor --json") echo '` + answer("1", time.Now()) + `' ;; *--nodelist=n1*" /opt/metasim reach") echo '{"address":"10.0.0.7:9000"}' ;; *) echo 'srun: error: n2: task 0: Exited with exit code 2' >&2; echo 'slurmstepd-n2: error: execve(): /opt/metasim: No such file or directory' >&2; exit 2 ;; esac`,
		"scontrol": "if [ $2 = hostnames ]; then echo n3; echo n4; fi",
	})
	t.Setenv("SLURM_JOB_ID", "")
	r := Examine(t.Context(), Options{Version: "1", Slurm: true, Here: "/opt/metasim"})
	var hosts []string
	for _, h := range r.Hosts {
		hosts = append(hosts, fmt.Sprint(h.Host, " ", h.Worst()))
	}
	require.Equal(t, []string{"n1 good", "n2 bad"}, hosts)
	require.Contains(t, strings.Join(strings.Fields(fmt.Sprint(r.Hosts[1].Checks)), " "), "no answer: srun: slurmstepd-n2: error: execve(): /opt/metasim: No such file")

	t.Setenv("SLURM_JOB_ID", "7") // inside of a job, its own
	t.Setenv("SLURM_JOB_NODELIST", "n[3-4]")
	t.Setenv("SLURM_TASKS_PER_NODE", "1(x2)")
	all, err := overSlurm(t.Context(), "metasim")
	require.NoError(t, err)
	require.Equal(t, []string{"n3", "n4"}, []string{all[0].host, all[1].host})
	require.Contains(t, all[1].command("reach"), "--jobid=7")
	t.Setenv("SLURM_TASKS_PER_NODE", "1")
	r = Examine(t.Context(), Options{Version: "1", Slurm: true, Here: "/opt/metasim"})
	require.Contains(t, byName(t, r.Checks)["job"].Found, "SLURM_TASKS_PER_NODE")
}
