package doctor

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"metasim/run/launch"
)

// maxNodes is how many nodes of a cluster are asked.
const maxNodes = 64

// slurm says whether jobs can be started here. Where nobody wants any, and there is no Slurm, that is said in one line; and one that does not run is not bad.
func slurm(ctx context.Context, wanted bool) []Check {
	for _, program := range []string{"sinfo", "srun"} {
		if _, err := exec.LookPath(program); err == nil {
			continue
		}
		c := Check{Name: "slurm", State: Absent, Found: "there is no " + program + " here"}
		if wanted {
			c.State, c.Remedy = Bad, "install Slurm's client programs, on Debian: sudo apt-get install slurm-client; or log in to a host of the cluster"
		}
		return []Check{c}
	}
	checks := []Check{munge(ctx), partitions(ctx)}
	for i := range checks {
		if c := &checks[i]; c.State == Bad && !wanted {
			c.State = Poor // its programs may be there for another host's sake
		}
	}
	return checks
}

// mungeSocket finds where munged listens for this cluster, where slurm.conf says that.
var mungeSocket = regexp.MustCompile(`(?m)^AuthInfo\s*=.*\bsocket=([^,\s]+)`)

// munge says whether this host can show who it is.
func munge(ctx context.Context) Check {
	c := Check{Name: "munge", State: Good, Found: "a credential of this host is taken here"}
	argv := []string{"sh", "-c", `credential=$(munge -n "$@") && printf '%s' "$credential" | unmunge -o /dev/null "$@"`, "sh"}
	if out, err := command(ctx, patience, nil, "scontrol", "show", "config"); err == nil { // else that of munge itself
		if m := mungeSocket.FindSubmatch(out); m != nil {
			argv = append(argv, "--socket="+string(m[1]))
		}
	}
	if _, err := command(ctx, patience, nil, argv...); err != nil {
		c.State, c.Found = Bad, "no credential: "+err.Error()
		c.Remedy = "start munged as the user munge, with the key of the cluster in /etc/munge/munge.key, and /run/munge owned by munge"
	}
	return c
}

// A node is a line of sinfo.
type node struct {
	name, partition, state, reason string
	byDefault                      bool // the partition is that of jobs which name none
}

// up reports whether jobs may run on the node now, or when others have ended.
func (n *node) up() bool {
	return slices.Contains([]string{"idle", "mixed", "allocated", "completing"}, strings.TrimRight(n.state, "-+"))
}

// nodes returns the nodes of the cluster, one for each partition that has it.
func nodes(ctx context.Context) (all []node, err error) {
	out, err := command(ctx, patience, nil, "sinfo", "--noheader", "--Node", "--format=%N|%P|%T|%E")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(out)) {
		if f := strings.SplitN(strings.TrimSpace(line), "|", 4); len(f) == 4 {
			partition, byDefault := strings.CutSuffix(f[1], "*")
			all = append(all, node{f[0], partition, f[2], f[3], byDefault})
		}
	}
	return all, nil
}

// partitions says which partitions have a node that is up, and why others are not.
func partitions(ctx context.Context) Check {
	c := Check{Name: "partitions", State: Good}
	all, err := nodes(ctx)
	switch {
	case err != nil:
		c.State, c.Found, c.Remedy = Bad, "the controller does not answer: "+err.Error(), "see that slurmctld runs: scontrol ping"
		return c
	case len(all) == 0:
		c.State, c.Found, c.Remedy = Bad, "the cluster has no nodes", "see slurm.conf: NodeName and PartitionName"
		return c
	}
	var names, down []string
	up, of := map[string]int{}, map[string]int{}
	for i := range all {
		n := &all[i]
		if of[n.partition]++; of[n.partition] == 1 {
			names = append(names, n.partition)
		}
		if n.up() {
			up[n.partition]++
		} else {
			down = append(down, fmt.Sprintf("%s is %s (%s)", n.name, n.state, n.reason))
		}
	}
	for i, name := range names {
		if up[name] == 0 {
			c.State = Bad
		}
		names[i] = fmt.Sprintf("%s: %d of %d nodes up", name, up[name], of[name])
	}
	c.Found = strings.Join(names, ", ")
	if slices.Sort(down); len(down) > 0 {
		down = slices.Compact(down)
		c.State = cmp.Or(map[State]State{Good: Poor}[c.State], c.State)
		c.Found += "; " + strings.Join(down[:min(len(down), 5)], ", ")
		c.Remedy = "see that slurmd runs there; then: scontrol update nodename=NODE state=resume"
	}
	return c
}

// overSlurm asks each node that is up, as a step of its own, at most maxNodes of them. Inside of a job it asks those of the job: no step of that leads to others.
func overSlurm(ctx context.Context, remote string) (all []asked, err error) {
	if os.Getenv("SLURM_JOB_ID") != "" {
		job := launch.NewJob(launch.Request{})
		hosts, err := job.Open(ctx)
		for _, host := range hosts[:min(len(hosts), maxNodes)] {
			all = append(all, asked{host, func(args ...string) []string { return job.Command(host, remote, args...) }})
		}
		return all, err
	}
	found, err := nodes(ctx)
	if err != nil {
		return nil, nil // partitions says so
	}
	seen := map[string]bool{}
	for _, byDefault := range []bool{true, false} { // others may be for some users alone
		for i := range found {
			n := &found[i]
			if n.byDefault != byDefault || seen[n.name] || !n.up() || len(all) == maxNodes {
				continue
			}
			seen[n.name] = true
			all = append(all, asked{n.name, func(args ...string) []string { return launch.SlurmStep(n.name, n.partition, remote, args...) }})
		}
	}
	return all, nil
}
