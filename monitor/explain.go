package monitor

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"metasim/internal/plain"
	"metasim/metasim"
	"metasim/server"
)

// explain returns the Slowest and the Chain of a View.
func (m *Monitor) explain(shot *server.Snapshot) (slowest string, chain []string) {
	switch {
	case shot.Over:
		return "", nil
	case shot.Record.Now:
		return "", []string{forDisk(shot)}
	case shot.Started && stops(shot) && shot.Halt.Still:
		return "", []string{halted(shot, metasim.Paused)}
	case shot.Started && stops(shot):
		return "", m.explainPausing(shot)
	case m.slowest < 0 || m.waitsForRate():
		return "", m.explainAlone(shot)
	}
	id := m.slowest
	if waits := behind(shot, id); waits >= 0 {
		id = waits
	}
	chain = m.chain(shot, metasim.ClientID(id), m.examiner())
	if id == m.slowest && len(chain) > 1 { // others waited for it in the last seconds, but not now
		chain[0] = "just now it waits itself: " + chain[0]
	}
	return shot.Clients[m.slowest].Name, chain
}

// forDisk says that the disk of a journal keeps everybody from going on.
func forDisk(shot *server.Snapshot) string {
	return fmt.Sprintf("the run at %v waits for the disk of its journal, since %s: it does not take what has happened", shot.Now,
		span(shot.Wall-shot.Record.Since))
}

// explainAlone explains a run in which no client holds up others.
func (m *Monitor) explainAlone(shot *server.Snapshot) []string {
	if id := shortOfCredit(shot); id >= 0 {
		return []string{m.describe(shot, metasim.ClientID(id), m.examiner())}
	}
	if id := quietest(shot); id >= 0 && (!shot.Started || shot.Wall-shot.Clients[id].Since >= silent) {
		return []string{m.describe(shot, metasim.ClientID(id), m.examiner())}
	}
	if m.waitsForRate() {
		return []string{halted(shot, metasim.Paused)}
	}
	return nil
}

// explainPausing explains a run that is being paused: a client has not come to where it must wait.
func (m *Monitor) explainPausing(shot *server.Snapshot) []string {
	id := quietest(shot)
	if id < 0 {
		return []string{"the run is being paused"}
	}
	c := &shot.Clients[id]
	ahead := ""
	if c.Granted.Time > shot.Now.Time {
		ahead = fmt.Sprintf(": it may go on to %v, as it was authorized before", c.Granted)
	}
	return []string{
		fmt.Sprintf("the run is being paused at %v, and %s is on its way to where it must wait%s", shot.Now, c.Name, ahead),
		m.describe(shot, metasim.ClientID(id), m.examiner()),
	}
}

// silent is for how long a client must have reported nothing before its process is examined. A fast client never is.
const silent = time.Second

// examiner examines processes without waiting. How much one computes is known when it is examined for the second time.
func (m *Monitor) examiner() examiner {
	state := func(pid int) processState {
		before := m.seen
		if pid != m.seenPID {
			before = processState{}
		}
		m.seen, m.seenPID = probe(pid), pid
		return since(before, m.seen)
	}
	return examiner{state: state, after: silent}
}

// chain says why a client waits. If the run has gone on since the snapshot, the client may wait for other reasons: then chain names only
// the first and the last client of the chain in the snapshot.
func (m *Monitor) chain(shot *server.Snapshot, id metasim.ClientID, e examiner) []string {
	c := &shot.Clients[id]
	if c.State == server.Computing {
		return m.sentences(shot, id, nil, e) // it does not wait
	}
	chain := m.server.Blame(id)
	if c.State != server.Waiting || !c.Held || len(chain) > 0 && chain[len(chain)-1].From == c.Root {
		return m.sentences(shot, id, chain, e)
	}
	return []string{fmt.Sprintf("%s at %v waits for %s", c.Name, c.Clock, name(shot, c.Holder)), m.describe(shot, c.Root, e)}
}

// Of a longer chain only the first and the last hops are shown.
const (
	firstHops = 4
	lastHops  = 3
)

// sentences says why a client waits: one for each hop of its chain, and one for the client at its root.
func (m *Monitor) sentences(shot *server.Snapshot, id metasim.ClientID, chain []metasim.Hold, e examiner) []string {
	var s []string
	for i, h := range chain {
		if h.Reason == metasim.Paused || h.Reason == metasim.NoCredit {
			return append(s, fmt.Sprintf("%s at %v waits: %s", name(shot, h.To), shot.Clients[h.To].Clock, halted(shot, h.Reason)))
		}
		id = h.From
		switch left := len(chain) - firstHops - lastHops; {
		case left <= 1 || i < firstHops || i >= firstHops+left:
			s = append(s, hop(shot, &h)+m.between(shot, &h))
		case i == firstHops:
			s = append(s, fmt.Sprintf("and so on for %d more, to %s", left, name(shot, chain[firstHops+left].To)))
		}
	}
	return append(s, m.describe(shot, id, e))
}

// between says between which hosts one client waits for another; empty: on the same one, or on this one. What they say goes through this host.
func (m *Monitor) between(shot *server.Snapshot, h *metasim.Hold) string {
	to, from := m.process(&shot.Clients[h.To]), m.process(&shot.Clients[h.From])
	if to.Host == from.Host {
		return ""
	}
	return fmt.Sprintf(" (from %s to %s)", away(from), away(to))
}

// away names the host of a process, with the time to it and back.
func away(p Process) string {
	switch {
	case p.Host == "":
		return "this host"
	case p.RoundTrip == 0:
		return "host " + p.Host
	}
	return fmt.Sprintf("host %s, %s there and back", p.Host, span(p.RoundTrip))
}

// hop says why one client waits for another.
func hop(shot *server.Snapshot, h *metasim.Hold) string {
	from := name(shot, h.From)
	delay := ""
	if h.Min > 0 {
		delay = fmt.Sprintf(", + %v of delay", h.Min)
	}
	if h.Channel != "" {
		delay += " on " + plain.Text(h.Channel)
	}
	why := ""
	switch h.Reason {
	case metasim.Memory:
		return fmt.Sprintf("%s at %v waits for memory: %s is %v behind", name(shot, h.To), shot.Clients[h.To].Clock, from, h.Due.Time-h.Send.Time)
	case metasim.Promised:
		why = fmt.Sprintf("%s promised to send nothing before %v%s", from, h.Send, delay)
	case metasim.NextEvent:
		why = fmt.Sprintf("%s has its next event at %v%s", from, h.Send, delay)
	case metasim.Pending:
		why = fmt.Sprintf("%s may answer at %v a message that it has received%s", from, h.Send, delay)
	case metasim.Heard:
		why = fmt.Sprintf("%s may answer at %v a message that it has not received yet%s", from, h.Send, delay)
	case metasim.Initializing:
		why = "no client goes on before all have initialized"
	case metasim.Absent:
		why = "a run begins when all have joined"
	}
	return fmt.Sprintf("%s at %v waits for %s: %s", name(shot, h.To), shot.Clients[h.To].Clock, from, why)
}

// halted says why a client waits that waits for no other: the driver does not let the run go on, or the run around it does not let the client.
func halted(shot *server.Snapshot, why metasim.Reason) string {
	if why == metasim.NoCredit {
		return "the run around this one has not come far enough to take more of what this client sends"
	}
	if shot.Halt.Paused && !shot.Halt.Driver {
		return fmt.Sprintf("the run is paused at %v, and metasim ctl resume lets it go on", shot.Now)
	}
	return fmt.Sprintf("the run is at %v and waits for real time, because it has a rate", shot.Now)
}

// describe says what a client does, and what its process does if the client has been silent.
func (m *Monitor) describe(shot *server.Snapshot, id metasim.ClientID, e examiner) string {
	c := &shot.Clients[id]
	switch c.State {
	case server.Waiting:
		if c.CatchesUp {
			break
		}
		return waiting(shot, c)
	case server.Lost:
		return fmt.Sprintf("%s was lost: it was last heard of at %v", c.Name, c.Clock)
	case server.Left:
		if nested := m.process(c).Nested; nested != "" {
			return fmt.Sprintf("%s sends nothing more out of the nested run %s since %v; what it does inside, the report of that run says at its end", c.Name, nested, c.Clock)
		}
		return fmt.Sprintf("%s has left at %v", c.Name, c.Clock)
	}
	silence := shot.Wall - c.Since
	var v processState
	process, line := "", ""
	if silence >= e.after {
		v, process, line = describeProcess(c, m.process(c), e)
	}
	does := ""
	switch {
	case c.CatchesUp:
		does = fmt.Sprintf("%s was started again, and repeats what it did up to %v", c.Name, c.Clock)
	case c.State == server.Absent:
		does = c.Name + " has not joined yet"
	case c.State == server.Initializing:
		does = fmt.Sprintf("%s has been initializing for %s", c.Name, span(silence))
	case v.idle():
		does = fmt.Sprintf("%s at %v has said nothing for %s", c.Name, c.Clock, span(silence))
	default:
		does = fmt.Sprintf("%s at %v has been computing for %s", c.Name, c.Clock, span(silence))
	}
	if process != "" {
		joint := ", "
		if v.idle() {
			joint = ": "
		}
		does += joint + process
	}
	if line != "" {
		does += ", last line of its output: " + line
	}
	if c.State == server.Absent {
		does += others(shot, c)
	}
	return does
}

// waiting says what a client waits for, if not for another client.
func waiting(shot *server.Snapshot, c *server.ClientSnapshot) string {
	want := fmt.Sprintf("until %v", c.Want)
	if c.Want == metasim.Infinity {
		want = "for a message"
	}
	switch {
	case c.Halted != 0:
		want += ": " + halted(shot, c.Halted)
	case !c.Held:
		want += ", and no client can send it a message before then"
	}
	return fmt.Sprintf("%s at %v has been waiting for %s, %s", c.Name, c.Clock, span(shot.Wall-c.Since), want)
}

// process returns the process of a client, as far as it is known. A connection inside this host tells its number; the process that metasim
// started may be a script that has started the client.
func (m *Monitor) process(c *server.ClientSnapshot) Process {
	p := m.processOf(c.Name)
	if p.Inside {
		p.PID = os.Getpid()
		return p
	}
	if _, number, ok := strings.Cut(c.Peer, " pid "); ok {
		if pid, err := strconv.Atoi(number); err == nil && pid > 0 {
			p.PID = pid
		}
	}
	return p
}

// describeProcess says what the process of a client does, as far as the system tells, and the last line that it wrote.
func describeProcess(c *server.ClientSnapshot, p Process, e examiner) (v processState, words, line string) {
	if p.Said != nil {
		line = p.Said()
	}
	switch {
	case p.Outside && c.State == server.Absent:
		return v, "and must be started outside of metasim", line
	case p.Host != "" && c.Peer != "":
		return v, "on " + away(p) + ", connected by " + c.Peer, line
	case p.Host != "":
		return v, "on " + away(p), line
	case p.PID == 0 && c.Peer != "":
		return v, "connected by " + c.Peer, line
	case p.PID == 0:
		return v, "", line
	case p.Inside: // the process does more than this client
		v = e.state(p.PID)
		return processState{condition: runs}, "a model in metasim's own " + v.words(p.PID), line
	}
	pid := worker(p.PID)
	v = e.state(pid)
	words = v.words(pid)
	if pid != p.PID {
		words = fmt.Sprintf("process %d waits for its child: %s", p.PID, words)
	}
	return v, words, line
}

// others names the other clients that have not joined.
func others(shot *server.Snapshot, but *server.ClientSnapshot) string {
	const most = 3
	var names []string
	for i := range shot.Clients {
		if c := &shot.Clients[i]; c.State == server.Absent && c != but {
			names = append(names, c.Name)
		}
	}
	switch more := len(names) - most; {
	case len(names) == 0:
		return ""
	case more > 0:
		return fmt.Sprintf("; nor have %s and %d others", strings.Join(names[:most], ", "), more)
	}
	return "; nor have " + strings.Join(names, ", ")
}
