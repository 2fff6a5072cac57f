package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"metasim/internal/plain"
	"metasim/internal/suggest"
	"metasim/run"
	"metasim/run/doctor"
)

// doctorFlags are the flags of metasim doctor.
type doctorFlags struct {
	doctor.Options
	launch string
	json   bool
}

func newDoctor(std streams) *cobra.Command {
	var f doctorFlags
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say what this host lacks for runs, and what mends it",
		Long: "Say what this host lacks for runs, and what mends it: how many files may be open, how much the buffers of UDP hold, how fast its\n" +
			"clock is read, how long a look-up of a name takes, whether TCP and UDP work, and, where Slurm is, munge and the partitions.\n" +
			"Nothing is changed.\n\n" +
			"With --hosts, the metasim on each of these hosts is asked over ssh, and with --launch slurm that on each node that is up,\n" +
			"or inside of a job on each host of it: whether it has the same version and the same time, and what it lacks. Each of them also\n" +
			"tries to reach this host, as the relay of a run would: at --listen, over UDP, or with --transport tls over TCP.\n\n" +
			"Exit status: 0 runs work, some perhaps slower than they could be; 1 something keeps runs from working; 2 bad usage.",
		Example: "  metasim doctor\n  metasim doctor --hosts node-1,node-2\n  metasim doctor --launch slurm --json",
		Args:    nothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return badUsage(err)
			}
			var err error
			if f.Here, err = os.Executable(); err != nil {
				return failed(fmt.Errorf("this program cannot find its own file: %w", err))
			}
			f.Version = run.BuildVersion()
			r := doctor.Examine(cmd.Context(), f.Options)
			var text bytes.Buffer
			if f.json {
				err = printJSON(&text, r)
			} else {
				printDoctor(&text, r)
			}
			if _, e := std.out.Write(text.Bytes()); err != nil || e != nil {
				return failed(errors.Join(err, e))
			}
			if r.Worst() == doctor.Bad {
				return &failure{status: 1, err: errors.New("something keeps runs from working"), printed: true}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.launch, "launch", "local", "what runs are to be started by: `local`, ssh or slurm")
	flags.StringSliceVar(&f.Hosts, "hosts", nil, "ask these `hosts` over ssh, as in node-1,node-2; ssh must need no password there")
	flags.StringVar(&f.Remote, "remote", "", "what metasim is called on other hosts: a `program` in the PATH there, or its path (default: metasim over ssh, and with\n"+
		"--launch slurm the path that it has here)")
	flags.StringVar(&f.Listen, "listen", "", "where these hosts are to reach this one, as with metasim run: an `address`, host:port (default: a free port of all interfaces)")
	flags.StringVar(&f.Transport, "transport", "quic", "by which `transport` they are to reach this one, as with metasim run: quic, or tls")
	flags.BoolVar(&f.json, "json", false, "print one JSON object, and nothing else, on stdout")
	return cmd
}

// newReach is what the doctor of another host starts here.
func newReach(std streams) *cobra.Command {
	return &cobra.Command{
		Use: "reach", Short: "Try to reach another host, as metasim doctor starts it there", Hidden: true, Args: nothing,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return failed(doctor.Reach(cmd.Context(), std.in, std.out))
		},
	}
}

// check tells what does not go together.
func (f *doctorFlags) check() error {
	launchers := []string{"local", "ssh", "slurm"}
	switch f.launch {
	case "local":
	case "ssh":
		if len(f.Hosts) == 0 {
			return errors.New("--launch ssh needs the hosts; name them, as in --hosts node-1,node-2")
		}
	case "slurm":
		f.Slurm = true
	default:
		return fmt.Errorf("--launch %q is unknown; %s", f.launch, suggest.Word(f.launch, launchers))
	}
	switch {
	case f.Transport != "quic" && f.Transport != "tls":
		return fmt.Errorf("--transport %s does not lead to other hosts; use quic or tls", f.Transport)
	case strings.Contains(f.Listen, "://"):
		return fmt.Errorf("--listen %s names a transport; write host:port, and name it with --transport", f.Listen)
	case f.Listen != "" && !f.Slurm && len(f.Hosts) == 0:
		return errors.New("--listen is where other hosts reach this one; name them with --hosts or --launch slurm, or leave it out")
	}
	for _, host := range f.Hosts {
		if host == "" || strings.HasPrefix(host, "-") {
			return fmt.Errorf("--hosts has %q, which is no name of a host; write names with commas between them, as in node-1,node-2", host)
		}
	}
	return nil
}

// printDoctor prints the checks of a host, and after them those of the hosts that were asked.
func printDoctor(w *bytes.Buffer, r *doctor.Report) {
	version := ""
	if r.Metasim != "" {
		version = ", metasim " + r.Metasim
	}
	fmt.Fprintf(w, "%s%s\n", plain.Text(r.Host), plain.Text(version))
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range r.Checks {
		fmt.Fprintf(t, "  %s\t%s\t%s\n", c.State, plain.Text(c.Name), plain.Text(c.Found))
		if c.Remedy != "" {
			fmt.Fprintf(t, "\t\t-> %s\n", plain.Text(c.Remedy))
		}
	}
	_ = t.Flush() // writing to memory does not fail
	for i := range r.Hosts {
		fmt.Fprintln(w)
		printDoctor(w, &r.Hosts[i])
	}
}
