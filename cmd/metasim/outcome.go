package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"metasim/metasim"
	"metasim/run"
)

// shownClients is how many clients the table shows; --json has them all.
const shownClients = 40

// printOutcome prints a table of the clients, and the digest.
func printOutcome(w *bytes.Buffer, o *run.Outcome) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight|tabwriter.DiscardEmptyColumns)
	fmt.Fprintf(t, "client\texit\tsent\tdelivered\tend\tgrants\tbusy\tblocked\t\n")
	for _, c := range o.Clients[:min(len(o.Clients), shownClients)] {
		end := metasim.Instant{Time: metasim.Time(c.EndNS), Step: c.EndStep}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%v\t%d\t%s\t%s\t\n", c.Name, c.Exit, c.Sent, c.Delivered, end, c.Grants,
			secondsText(c.BusyS), secondsText(c.BlockedS))
	}
	_ = t.Flush() // writing to memory does not fail
	if more := len(o.Clients) - shownClients; more > 0 {
		fmt.Fprintf(w, "... and %d more: see --json\n", more)
	}
	printResults(w, o)
	factor := ""
	if o.WallS > 0 {
		factor = ", " + factorText(float64(o.EndNS)/1e9/o.WallS) + " times real time"
	}
	fmt.Fprintf(w, "\n%s: %v of simulated time in %s%s\n", o.Scenario, metasim.Time(o.EndNS), secondsText(o.WallS), factor)
	m := o.Messages
	fmt.Fprintf(w, "messages: %d sent, %d delivered, %d dropped, %d undelivered\n", m.Sent, m.Delivered, m.Dropped, m.Undelivered)
	fmt.Fprintf(w, "traffic: %d frames in (%s), %d out (%s), %d wake-ups with %s grants each\n", o.FramesIn, bytesText(o.BytesIn),
		o.FramesOut, bytesText(o.BytesOut), o.Wakeups, grantsEach(o))
	printHosts(w, o)
	printWarnings(w, o)
	printMemory(w, o)
	if l := o.LCM; l != nil {
		fmt.Fprintf(w, "public LCM: %d messages with their companions, %d dropped; %d went out on %s, %d failed\n",
			l.Shown, l.Dropped+l.Refused, l.Sent, l.URL, l.Failed)
		if l.Unheard > 0 {
			fmt.Fprintf(w, "no program had subscribed to %d of these: start it before the run, and let lcm_subscribers wait for it\n", l.Unheard)
		}
		if l.Overflow > 0 {
			fmt.Fprintf(w, "programs that listen lost %d datagrams: their receive buffers were full; %s\n", l.Overflow, l.Remedy)
		}
	}
	switch {
	case len(o.Live) > 0:
		fmt.Fprintf(w, "deterministic: no, %s took part in real time\n", strings.Join(o.Live, ", "))
	case !o.Deterministic:
		fmt.Fprintf(w, "deterministic: no, a client was cut off\n")
	}
	printDigests(w, o.Digest, o.SendsDigest, o.ResultsDigest)
	fmt.Fprintf(w, "run: %s\n", o.RunDir)
	if o.Resumable {
		fmt.Fprintf(w, "it was stopped, and goes on with: metasim resume %s\n", o.RunDir)
	}
}

// printDigests prints what proves a run: of what was delivered, of all that was sent, and of the results.
func printDigests(w io.Writer, deliveries, sends, results string) {
	fmt.Fprintf(w, "digest: %s\nsends digest: %s\nresults digest: %s\n", deliveries, sends, results)
}

// printHosts prints how many clients each host had, where there are several, and which hosts were lost.
func printHosts(w *bytes.Buffer, o *run.Outcome) {
	if len(o.Hosts) < 2 {
		return
	}
	var hosts []string
	for _, h := range o.Hosts[:min(len(o.Hosts), shownClients)] {
		lost := ""
		if h.Exit != "ended" { // the error, or a warning, says why
			lost = ", lost"
		}
		hosts = append(hosts, fmt.Sprintf("%s (%d%s)", h.Name, len(h.Clients), lost))
	}
	if more := len(o.Hosts) - shownClients; more > 0 {
		hosts = append(hosts, fmt.Sprintf("%d more (see --json)", more))
	}
	fmt.Fprintf(w, "hosts: clients on %s\n", strings.Join(hosts, ", "))
}

// printWarnings prints the warnings, also those that were said when the run began: much may have been printed since.
func printWarnings(w *bytes.Buffer, o *run.Outcome) {
	const most = 5 // of a kind
	kinds := map[string]int{}
	for _, warning := range o.Warnings {
		if kinds[warning.Kind]++; kinds[warning.Kind] <= most {
			fmt.Fprintf(w, "warning: %s\n", warning.Text)
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		if more := kinds[kind] - most; more > 0 {
			fmt.Fprintf(w, "warning: %d more like these (%s): see --json\n", more, kind)
		}
	}
}

// printMemory prints which clients waited for memory, and whether more was held than the bound allows. It prints nothing if neither
// happened.
func printMemory(w *bytes.Buffer, o *run.Outcome) {
	var waited []string
	for _, c := range o.Clients {
		if c.MemoryS > 0 {
			waited = append(waited, fmt.Sprintf("%s waited %s", c.Name, secondsText(c.MemoryS)))
		}
	}
	more := len(waited) - 3
	if more > 0 {
		waited = append(waited[:3], fmt.Sprintf("%d more waited (see --json)", more))
	}
	if len(waited) > 0 {
		fmt.Fprintf(w, "memory: %s for the slower ones to handle what was sent; at most %s were held, of %s\n", strings.Join(waited, ", "),
			bytesText(uint64(o.HeldBytes)), bytesText(uint64(o.MemoryBytes)))
	}
	if o.MemoryBytes > 0 && o.HeldBytes > o.MemoryBytes {
		fmt.Fprintf(w, "memory: %s had to be on their way at one time, more than the bound of %s; shorten delays, or raise memory\n",
			bytesText(uint64(o.HeldBytes)), bytesText(uint64(o.MemoryBytes)))
	}
}

// printResults prints the results that the models left with.
func printResults(w *bytes.Buffer, o *run.Outcome) {
	withResult := slices.DeleteFunc(slices.Clone(o.Clients), func(c run.ClientOutcome) bool { return len(c.Result) <= len("{}") })
	if len(withResult) == 0 {
		return
	}
	fmt.Fprintln(w)
	for _, c := range withResult[:min(len(withResult), shownClients)] {
		var line bytes.Buffer
		if err := json.Compact(&line, c.Result); err != nil {
			line.Reset()
			line.Write(c.Result)
		}
		fmt.Fprintf(w, "%s: %s\n", c.Name, line.Bytes())
	}
}

// grantsEach returns the average number of grants for each wake-up of the server.
func grantsEach(o *run.Outcome) string {
	grants := uint64(0)
	for _, c := range o.Clients {
		grants += c.Grants
	}
	return factorText(float64(grants) / float64(max(o.Wakeups, 1)))
}
