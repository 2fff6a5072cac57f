package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"metasim/metasim"
	"metasim/record/journal"
	"metasim/scenarios"
	"metasim/server"
)

// exitLost is the exit of the client whose loss made the run fail.
const exitLost = "lost"

// hostEnded is the exit of a host that was there until the end.
const hostEnded = "ended"

// newOutcome makes the outcome from the result of the server.
func newOutcome(scenario string, seed uint64, dir string, r server.Result) *Outcome {
	o := &Outcome{
		Scenario: scenario, Seed: seed, OK: r.Err == nil, Deterministic: r.Deterministic, Digests: digests(r),
		EndNS: int64(r.Totals.End.Time), WallS: r.Wall.Seconds(), RunDir: dir, Err: r.Err,
		Messages: Messages{r.Totals.Sent, r.Totals.Delivered, r.Totals.Dropped, r.Totals.Undelivered},
		Traffic:  r.Traffic, Wakeups: r.Wakeups, RoundsS: r.Rounds.Seconds(), MemoryBytes: r.Memory, HeldBytes: r.Held, DiskS: r.RecordWait.Seconds(),
	}
	if r.Err != nil {
		o.Error = r.Err.Error()
	}
	for _, c := range r.Clients {
		o.Clients = append(o.Clients, ClientOutcome{
			Name: c.Name, Digest: c.Digest.String(), SendsDigest: fmt.Sprintf("%016x", c.Sends), Sent: c.Sent, Delivered: c.Delivered,
			EndNS: int64(c.End.Time), EndStep: c.End.Step, Grants: c.Grants,
			BusyS: c.Busy.Seconds(), BlockedS: c.Blocked.Seconds(), MemoryS: c.Starved.Seconds(), HeldS: c.HeldOthers.Seconds(), Restarts: c.Restarts, Checkpoints: c.Checkpoints, Exit: exit(c, r.Err), Result: result(c.Account),
			Traffic: c.Traffic,
		})
	}
	return o
}

// slowDiskPart: a run that waits for its disk for less than one part in slowDiskPart of its time is not warned of.
const slowDiskPart = 20

// disk says that the run waited for the disk of its journal, if that is worth a word.
func (o *Outcome) disk() []Warning {
	if o.DiskS == 0 || o.DiskS*slowDiskPart < o.WallS {
		return nil
	}
	return []Warning{{slowDisk, fmt.Sprintf("the run waited %.1f s of its %.1f s for the disk of its journal; use a faster one with --out, or --no-journal",
		o.DiskS, o.WallS)}}
}

// digests returns the three digests of a run.
func digests(r server.Result) journal.Digests {
	var names []string
	var results [][]byte
	for i := range r.Clients {
		names, results = append(names, r.Clients[i].Name), append(results, r.Clients[i].Result)
	}
	return journal.Digests{
		Digest: r.Digest.String(), SendsDigest: r.SendsDigest.String(), ResultsDigest: journal.ResultsDigest(names, results).String(),
	}
}

// result returns the result that a client left with; {} if it is not JSON.
func result(a metasim.Account) json.RawMessage {
	if !json.Valid(a.Result) {
		return json.RawMessage("{}")
	}
	return a.Result
}

// exit says in a word how the part of a client ended.
func exit(c server.ClientResult, err error) string {
	var e *server.LostError
	switch {
	case c.Left:
		return "left"
	case c.Cut:
		return "detached"
	case errors.As(err, &e) && e.Client == c.Name:
		return exitLost
	case !c.Joined:
		return "absent"
	}
	return "aborted"
}

// fail makes a run that went well one that failed.
func (o *Outcome) fail(err error) { o.OK, o.Err, o.Error = false, err, err.Error() }

// nameHosts adds to the error of a run on which hosts the clients are that made it fail. A host that the error names already is not added again.
func (o *Outcome) nameHosts(of func(client string) string) {
	const most = 8
	var more []string
	for _, client := range clientsIn(o.Err) {
		host := of(client)
		if host != "" && len(more) < most && !regexp.MustCompile(`\bhost `+regexp.QuoteMeta(host)+`\b`).MatchString(o.Error) {
			more = append(more, fmt.Sprintf("client %q is on host %s", client, host))
		}
	}
	if len(more) > 0 {
		o.fail(fmt.Errorf("%w; %s", o.Err, strings.Join(more, ", ")))
	}
}

// clientsIn returns the clients that have made a run fail.
func clientsIn(err error) []string {
	var lost *server.LostError
	var repeat *server.RepeatError
	var start *server.StartError
	var rule *metasim.Violation
	var memory *metasim.MemoryError
	switch {
	case errors.As(err, &lost):
		return []string{lost.Client}
	case errors.As(err, &repeat):
		return []string{repeat.Client}
	case errors.As(err, &start):
		return start.Missing
	case errors.As(err, &rule):
		return []string{rule.Client}
	case errors.As(err, &memory):
		return []string{memory.Client}
	}
	return nil
}

// hasLostHosts reports whether a host was lost.
func (o *Outcome) hasLostHosts() bool {
	return slices.ContainsFunc(o.Hosts, func(h HostOutcome) bool { return h.Exit != hostEnded })
}

// nameLostHosts names the hosts that were lost in a run that failed: that a relay or a client has ended may be heard first.
func (o *Outcome) nameLostHosts() {
	for _, h := range o.Hosts {
		if h.Exit != hostEnded && !o.OK && !strings.Contains(o.Error, "host "+h.Name+" was lost") {
			o.fail(fmt.Errorf("%w; %s", o.Err, h.Exit))
		}
	}
}

// errTaken is why a run failed if the launcher reports the end of its job before any client is lost.
var errTaken = errors.New("the hosts of the run were taken away")

// A takenError tells that all hosts of a run were taken away at once: whatever else is known of its end follows from that, so it comes last.
type takenError struct {
	why   string
	first error // which client or host was lost first, and how
}

func (e *takenError) Error() string {
	if errors.Is(e.first, errTaken) {
		return fmt.Sprintf("%s: %v", e.why, e.first)
	}
	return fmt.Sprintf("%s: %v; first, %v", e.why, errTaken, e.first)
}

func (e *takenError) Unwrap() error { return e.first }

// onThisHost adds to an outcome that the clients of a run were on this host, where no launcher has put them on others.
func (o *Options) onThisHost(sc *scenarios.Scenario) func(*Outcome, error) (*Outcome, error) {
	return func(out *Outcome, err error) (*Outcome, error) {
		if err != nil || o.far() || o.Serve {
			return out, err
		}
		h := HostOutcome{Clients: []string{}, Exit: hostEnded}
		h.Name, _ = os.Hostname() // a host without a name has none in the outcome
		for i := range sc.Clients {
			if c := &sc.Clients[i]; !c.External {
				h.Clients = append(h.Clients, c.Name)
			}
		}
		out.Hosts = []HostOutcome{h}
		return out, nil
	}
}
