package main

import (
	"bytes"
	"encoding/json"
	"fmt"
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
	if l := o.LCM; l != nil {
		fmt.Fprintf(w, "public LCM: %d messages with their companions, %d dropped; %d went out on %s, %d failed\n",
			l.Shown, l.Dropped+l.Refused, l.Sent, l.URL, l.Failed)
	}
	switch {
	case len(o.Live) > 0:
		fmt.Fprintf(w, "deterministic: no, %s took part in real time\n", strings.Join(o.Live, ", "))
	case !o.Deterministic:
		fmt.Fprintf(w, "deterministic: no, a client was cut off\n")
	}
	fmt.Fprintf(w, "digest: %s\nrun: %s\n", o.Digest, o.RunDir)
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

// grantsEach returns how many grants a wake-up of the server caused, on average.
func grantsEach(o *run.Outcome) string {
	grants := uint64(0)
	for _, c := range o.Clients {
		grants += c.Grants
	}
	return factorText(float64(grants) / float64(max(o.Wakeups, 1)))
}
