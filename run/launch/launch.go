// Package launch knows how a program of ours is started on another host: what is typed for it.
package launch

import (
	"fmt"
	"strings"
	"time"
)

// patience is how long a host that does not answer is waited for.
const patience = 10 * time.Second

// SSH returns the command that starts metasim on a host, over the ssh of the system, whose configuration says how the host is reached. It asks for no
// password, as nobody may be there to type one. A host that has vanished is given up after 30 s, as a client that has vanished is.
func SSH(host, metasim string, args ...string) []string {
	return []string{
		"ssh", "-o", "BatchMode=yes", "-o", fmt.Sprintf("ConnectTimeout=%d", int(patience.Seconds())), "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=6",
		"--", host, strings.Join(append([]string{quoted(metasim)}, args...), " "),
	}
}

// Slurm returns the command that starts metasim on a node of a cluster, as a step of its own.
func Slurm(node, partition, metasim string, args ...string) []string {
	return append([]string{
		"srun", fmt.Sprintf("--immediate=%d", int(patience.Seconds())), "--nodes=1", "--ntasks=1", "--nodelist=" + node, "--partition=" + partition, metasim,
	}, args...)
}

// quoted is a word for the shell of another host.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
