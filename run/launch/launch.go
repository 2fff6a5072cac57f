// Package launch knows how a program of ours is started on another host: what is typed for it, and how a cluster is asked for hosts.
package launch

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// patience is how long a host that does not answer is waited for.
const patience = 10 * time.Second

// A Launcher knows hosts, and starts programs there. Open comes first, and Close last.
type Launcher interface {
	// Open waits until all hosts are there, and names them. It is all or nothing: an error says why there are none, and nothing is left then.
	Open(ctx context.Context) ([]string, error)
	// Command is what has to be started here, so that metasim runs on a host. Its standard streams are those of metasim there.
	Command(host, metasim string, args ...string) []string
	// Over is closed when all hosts have been taken away at once; nil: that cannot be.
	Over() <-chan struct{}
	// Why says in a few words what became of the hosts, as far as the one who gave them knows, and whether they were taken away; empty: nothing worth a word.
	Why(ctx context.Context) (words string, taken bool)
	// Close gives the hosts back. All that was started there has ended by then, or is ended now.
	Close() error
}

// SSH starts programs over the ssh of the system, on hosts that it is given by their names.
type SSH []string

// Open returns the hosts.
func (s SSH) Open(context.Context) ([]string, error) { return s, nil }

// Command is what is typed to start metasim on a host. The configuration of ssh says how the host is reached. It asks for no password, as nobody may be
// there to type one. A host that has vanished is given up after 30 s, as a client that has vanished is.
func (SSH) Command(host, metasim string, args ...string) []string {
	return []string{
		"ssh", "-o", "BatchMode=yes", "-o", fmt.Sprintf("ConnectTimeout=%d", int(patience.Seconds())), "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=6",
		"--", host, strings.Join(append([]string{quoted(metasim)}, args...), " "),
	}
}

// Over is nil: each host is lost on its own.
func (SSH) Over() <-chan struct{} { return nil }

// Why is empty: nobody but the host knows.
func (SSH) Why(context.Context) (words string, taken bool) { return "", false }

// Close does nothing.
func (SSH) Close() error { return nil }

// SlurmStep returns the command that starts metasim on a node of a cluster, in a job of its own.
func SlurmStep(node, partition, metasim string, args ...string) []string {
	return append([]string{
		"srun", fmt.Sprintf("--immediate=%d", int(patience.Seconds())), "--nodes=1", "--ntasks=1", "--nodelist=" + node, "--partition=" + partition, metasim,
	}, args...)
}

// Caller is the address of the host that has started this program here, where a cluster tells it; else empty.
func Caller() string { return os.Getenv("SLURM_LAUNCH_NODE_IPADDR") }

// quoted is a word for the shell of another host.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
