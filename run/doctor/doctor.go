// Package doctor says what a host lacks for runs, with the remedy of each: how many files may be open, how much the buffers of UDP hold, how
// well its clock is read and set, how fast names are looked up, whether it can listen, and what there is of Slurm. It changes nothing.
//
// Of other hosts it asks the metasim there, over ssh or as a step of Slurm, and says which have another version, or another time, and which cannot reach this host.
//
// The files, from the top down:
//
//	doctor.go   Examine, and what it returns
//	hosts.go    other hosts
//	reach.go    whether they reach this host
//	slurm.go    munge, partitions and nodes
//	host.go     this host
//	command.go  programs that are asked
//	clock_*.go  what the system says of its clock
package doctor

import (
	"cmp"
	"context"
	"os"
	"time"

	"metasim/run/launch"
)

// A State says how bad it is.
type State string

// The states.
const (
	Good   State = "good"
	Poor   State = "poor"   // runs are slower, or must be smaller
	Bad    State = "bad"    // runs fail
	Absent State = "absent" // it is not there, and nobody asked for it
)

// A Check says what was found of one thing.
type Check struct {
	Name   string `json:"check"`
	State  State  `json:"state"`
	Found  string `json:"found"`
	Remedy string `json:"remedy,omitempty"` // what to type, or to do; empty where nothing is to be done
}

// A Report is what a host is for runs: what metasim doctor --json prints.
type Report struct {
	Host    string    `json:"host"`
	Metasim string    `json:"metasim"`       // the version; empty: it did not answer
	Time    time.Time `json:"time,omitzero"` // when it was asked, by its clock
	Checks  []Check   `json:"checks"`
	Hosts   []Report  `json:"hosts,omitempty"` // those that were asked
}

// Options say what is examined.
type Options struct {
	Version string   // of this metasim
	Hosts   []string // that are asked over ssh
	Slurm   bool     // it has to be there, and its nodes are asked
	Remote  string   // how metasim is called on other hosts; empty: metasim over ssh, and Here on those of a cluster
	Here    string   // where this program is

	Listen    string // where other hosts reach this one; empty: any free port
	Transport string // by which they do: quic, or tls; empty: quic
}

// Examine examines this host, and asks others. Nothing that does not answer keeps it for longer than patience.
func Examine(ctx context.Context, o Options) *Report {
	r := &Report{Metasim: o.Version, Time: time.Now().UTC()}
	r.Host, _ = os.Hostname() // a host without a name has none in the report
	r.Checks = append(thisHost(ctx, r.Host), slurm(ctx, o.Slurm)...)
	var all []asked
	for _, host := range o.Hosts {
		all = append(all, asked{host, func(args ...string) []string { return launch.SSH{}.Command(host, cmp.Or(o.Remote, "metasim"), args...) }})
	}
	if o.Slurm {
		nodes, err := overSlurm(ctx, cmp.Or(o.Remote, o.Here))
		if err != nil {
			r.Checks = append(r.Checks, Check{Name: "job", State: Bad, Found: err.Error(), Remedy: "see scontrol show job, or start this outside of the job"})
		}
		all = append(all, nodes...)
	}
	if len(all) == 0 {
		return r
	}
	d, err := openDoor(&o)
	if err != nil {
		r.Checks = append(r.Checks, Check{Name: "listen", State: Bad, Found: "other hosts cannot reach this one: " + err.Error(), Remedy: "name an address of this host with --listen, as in 10.0.0.7:9000, or leave it out"})
	} else {
		defer d.listener.Close()
	}
	r.ask(ctx, all, d)
	return r
}

// Worst returns the worst state of any check on any host.
func (r *Report) Worst() State {
	worst := Good
	for _, c := range r.Checks {
		if c.State == Bad || c.State == Poor && worst == Good {
			worst = c.State
		}
	}
	for i := range r.Hosts {
		if w := r.Hosts[i].Worst(); w == Bad || w == Poor && worst == Good {
			worst = w
		}
	}
	return worst
}

// A set says whether a clock is kept at the time of others.
type set int

const (
	unknown set = iota
	kept
	free
)
