package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// atOnce is how many hosts are asked at the same time.
const atOnce = 16

// An asked is a host that the doctor asks. command returns the command line that runs metasim there, with these arguments.
type asked struct {
	host    string
	command func(args ...string) []string
}

// ask asks the hosts, and says which differ from this one, and which cannot reach it through its door. Nil: it has none.
func (r *Report) ask(ctx context.Context, all []asked, d *door) {
	r.Hosts = make([]Report, len(all))
	var hosts sync.WaitGroup
	places := make(chan struct{}, atOnce)
	for i, one := range all {
		places <- struct{}{}
		hosts.Go(func() {
			r.Hosts[i] = r.askOne(ctx, one, d)
			<-places
		})
	}
	hosts.Wait()
}

// askOne asks one host. That it does not answer is bad.
func (r *Report) askOne(ctx context.Context, one asked, d *door) Report {
	argv := one.command("doctor", "--json")
	began := time.Now()
	out, err := command(ctx, 2*patience, nil, argv...)
	took := time.Since(began)
	var there Report
	if e := json.Unmarshal(out, &there); e != nil || there.Metasim == "" { // a doctor that found something bad has an exit status
		if err == nil {
			err = errors.New("what it answers is not from metasim doctor --json")
		}
		return Report{Host: one.host, Checks: []Check{{Name: "metasim", State: Bad, Found: "no answer: " + err.Error(),
			Remedy: "see that this works, and asks for no password: " + strings.Join(argv, " ")}}}
	}
	there.Host = one.host
	first := []Check{sameVersion(r.Metasim, there.Metasim), sameTime(began, there.Time, took)}
	if d != nil && r.Metasim == there.Metasim { // another version may speak another protocol
		first = append(first, d.asks(ctx, r.Host, one.host, one.command("reach")))
	}
	there.Checks = append(first, there.Checks...)
	return there
}

// sameVersion compares versions: a run needs one of them everywhere, as its models are in the program.
func sameVersion(here, there string) Check {
	c := Check{Name: "metasim", State: Good, Found: there}
	if here != there {
		c.State, c.Found, c.Remedy = Bad, there+" there, "+here+" here", "install the same version on all hosts, or name it with --remote"
	}
	return c
}

// sameTime compares clocks. A certificate of a run is good from an hour before it was made.
func sameTime(asked, there time.Time, took time.Duration) Check {
	const much = 30 * time.Minute
	behind, ahead := asked.Sub(there), there.Sub(asked.Add(took)) // its clock was read between the two
	c := Check{Name: "time", State: Good, Found: fmt.Sprintf("at most %v apart from this host", max(took, behind, ahead).Round(time.Millisecond))}
	if max(behind, ahead) > much {
		c.State, c.Found, c.Remedy = Bad, fmt.Sprintf("its clock is %v apart, so certificates may not be valid yet", max(behind, ahead).Round(time.Second)), "set it: sudo timedatectl set-ntp true"
	}
	return c
}
