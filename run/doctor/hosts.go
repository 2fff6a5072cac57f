package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"

	"metasim/run/launch"
)

// patience is how long is waited for anything that does not answer.
const patience = 10 * time.Second

// atOnce is how many hosts are asked at the same time.
const atOnce = 16

// An asked is a host, and the command that asks it.
type asked struct {
	host string
	argv []string
}

// ask asks the hosts, and says which differ from this one.
func (r *Report) ask(ctx context.Context, all []asked) {
	r.Hosts = make([]Report, len(all))
	var hosts sync.WaitGroup
	places := make(chan struct{}, atOnce)
	for i, one := range all {
		places <- struct{}{}
		hosts.Go(func() {
			r.Hosts[i] = r.askOne(ctx, one)
			<-places
		})
	}
	hosts.Wait()
}

// askOne asks one host. That it does not answer is bad.
func (r *Report) askOne(ctx context.Context, one asked) Report {
	began := time.Now()
	out, err := command(ctx, 2*patience, one.argv...)
	took := time.Since(began)
	var there Report
	if e := json.Unmarshal(out, &there); e != nil || there.Metasim == "" { // a doctor that found something bad has an exit status
		if err == nil {
			err = errors.New("what it answers is not from metasim doctor --json")
		}
		return Report{Host: one.host, Checks: []Check{{Name: "metasim", State: Bad, Found: "no answer: " + err.Error(),
			Remedy: "see that this works, and asks for no password: " + strings.Join(one.argv, " ")}}}
	}
	there.Host = one.host
	there.Checks = append([]Check{sameVersion(r.Metasim, there.Metasim), sameTime(began, there.Time, took)}, there.Checks...)
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

// command runs a command, and returns what it printed, and an error that says why it has failed.
func command(ctx context.Context, limit time.Duration, argv ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.WaitDelay = time.Second // what it has started may hold its output
	out, err := cmd.Output()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		err = fmt.Errorf("%s has not ended within %v", argv[0], limit)
	case errors.As(err, &exit):
		err = fmt.Errorf("%s: %s", argv[0], cmp.Or(strings.TrimPrefix(launch.Reason(string(exit.Stderr)), argv[0]+": "), exit.Error()))
	}
	return out, err
}
