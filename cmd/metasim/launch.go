package main

import (
	"github.com/spf13/cobra"

	"metasim/run"
)

// addLaunch adds the flags that say on which hosts clients are started.
func addLaunch(cmd *cobra.Command, how *run.Options) {
	flags := cmd.Flags()
	flags.StringVar(&how.Launch, "launch", "local", "start the clients by this `launcher`: local; ssh, which puts them on --hosts; or slurm, which puts them on hosts of a cluster.\n"+
		"The latter two go over quic or tls. What follows -- is for salloc, or for srun if metasim runs in a job")
	flags.IntVar(&how.Nodes, "nodes", 0, "ask Slurm for this `number` of hosts (default: those of the job in which metasim runs, or what Slurm gives)")
	flags.StringSliceVar(&how.Hosts, "hosts", nil, "the `hosts` on which ssh or slurm starts the clients, as in node-1,node-2: those that follow one another in the scenario on one\n"+
		"host, and as many on each. ssh must need no password there; see metasim doctor --hosts")
	flags.StringVar(&how.PlacementFrom, "placement-from", "", "let clients share a host that said much to one another in an earlier `run`, by its directory, where placement in the scenario does not\n"+
		"say which")
	flags.StringVar(&how.Remote, "remote", "", "what metasim is called on other hosts: a `program` in the PATH there, or its path (default: metasim with ssh, and with slurm\n"+
		"the path that it has here)")
}

// splitAtDash returns the arguments before --, and those behind it.
func splitAtDash(cmd *cobra.Command, args []string) (before, behind []string) {
	if n := cmd.ArgsLenAtDash(); n >= 0 {
		return args[:n], args[n:]
	}
	return args, nil
}

// beforeDash checks the arguments before -- alone.
func beforeDash(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		before, _ := splitAtDash(cmd, args)
		return check(cmd, before)
	}
}
