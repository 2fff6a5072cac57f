package monitor

import (
	"fmt"
	"strings"
	"time"
	"unicode"

	"metasim/metasim"
	"metasim/server"
)

// Of a chain that is longer so many hops are told, at its beginning and at its end.
const (
	firstHops = 4
	lastHops  = 3
)

// A look is how processes are looked at: at tells what one does, and is asked after so much silence of its client.
type look struct {
	at    func(pid int) Vitals
	after time.Duration
}

// sentences says why a client waits: one for each hop of its chain, and one for the client at its root.
func (m *Monitor) sentences(shot *server.Snapshot, id metasim.ClientID, chain []metasim.Hold, look look) []string {
	var s []string
	for i, h := range chain {
		if h.Reason == metasim.Paused {
			return append(s, fmt.Sprintf("%s at %v waits: %s", name(shot, h.To), shot.Clients[h.To].Clock, halted(shot)))
		}
		id = h.From
		switch left := len(chain) - firstHops - lastHops; {
		case left <= 1 || i < firstHops || i >= firstHops+left:
			s = append(s, hop(shot, &h))
		case i == firstHops:
			s = append(s, fmt.Sprintf("so it goes on for %d more, to %s", left, name(shot, chain[firstHops+left].To)))
		}
	}
	return append(s, m.plight(shot, id, look))
}

func name(shot *server.Snapshot, id metasim.ClientID) string { return shot.Clients[id].Name }

// hop says why one client waits for another.
func hop(shot *server.Snapshot, h *metasim.Hold) string {
	from := name(shot, h.From)
	delay := ""
	if h.Min > 0 {
		delay = fmt.Sprintf(", + %v of delay", h.Min)
	}
	if h.Channel != "" {
		delay += " on " + plain(h.Channel)
	}
	why := ""
	switch h.Reason {
	case metasim.Promised:
		why = fmt.Sprintf("%s promised nothing before %v%s", from, h.Send, delay)
	case metasim.NextEvent:
		why = fmt.Sprintf("%s has its next event at %v%s", from, h.Send, delay)
	case metasim.Pending:
		why = fmt.Sprintf("%s may answer at %v what it has been given%s", from, h.Send, delay)
	case metasim.Heard:
		why = fmt.Sprintf("%s may answer at %v what it has not got yet%s", from, h.Send, delay)
	case metasim.Initializing:
		why = "nobody goes on before all have initialized"
	case metasim.Absent:
		why = "a run begins when all have joined"
	}
	return fmt.Sprintf("%s at %v waits for %s: %s", name(shot, h.To), shot.Clients[h.To].Clock, from, why)
}

// halted says why a run is not permitted to go on.
func halted(shot *server.Snapshot) string {
	if shot.Halt.Paused && !shot.Halt.Driver {
		return fmt.Sprintf("the run is paused at %v, and metasim ctl resume lets it go on", shot.Now)
	}
	return fmt.Sprintf("the run is at %v, and its rate has it wait for real time", shot.Now)
}

// plight says what a client does, and of one that others wait for what its process does.
func (m *Monitor) plight(shot *server.Snapshot, id metasim.ClientID, look look) string {
	c := &shot.Clients[id]
	switch c.State {
	case server.Waiting:
		return waiting(shot, c)
	case server.Lost:
		return fmt.Sprintf("%s was lost at %v", c.Name, c.Clock)
	case server.Left:
		return fmt.Sprintf("%s has left at %v", c.Name, c.Clock)
	}
	silence := shot.Wall - c.Since
	var v Vitals
	process, line := "", ""
	if silence >= look.after {
		v, process, line = inBody(c, m.process(c), look)
	}
	does := ""
	switch {
	case c.State == server.Absent:
		does = c.Name + " has not joined yet"
	case c.State == server.Initializing:
		does = fmt.Sprintf("%s is initializing since %s", c.Name, span(silence))
	case v.idle():
		does = fmt.Sprintf("%s at %v has said nothing for %s", c.Name, c.Clock, span(silence))
	default:
		does = fmt.Sprintf("%s at %v is computing since %s", c.Name, c.Clock, span(silence))
	}
	switch {
	case process == "":
	case v.idle():
		does += ": " + process
	default:
		does += ", " + process
	}
	if line != "" {
		does += ", last line of its output: " + line
	}
	if c.State == server.Absent {
		does += others(shot, c)
	}
	return does
}

// waiting says for what a client waits that nobody holds back.
func waiting(shot *server.Snapshot, c *server.ClientSnapshot) string {
	want := fmt.Sprintf("for %v", c.Want)
	if c.Want == metasim.Infinity {
		want = "for a message"
	}
	switch {
	case c.Halted:
		want += ": " + halted(shot)
	case !c.Held:
		want += ", and nobody could send it one before then"
	}
	return fmt.Sprintf("%s at %v waits since %s %s", c.Name, c.Clock, span(shot.Wall-c.Since), want)
}

// inBody looks at the process of a client, says what it does, as far as the system tells, and what it wrote last.
func inBody(c *server.ClientSnapshot, p Process, look look) (v Vitals, words, line string) {
	if p.Said != nil {
		line = p.Said()
	}
	switch {
	case p.Outside && c.State == server.Absent:
		return v, "and somebody else is to start it", line
	case p.PID == 0 && c.Peer != "":
		return v, "connected by " + c.Peer, line
	case p.PID == 0:
		return v, "", line
	case p.Inside: // the process does not only do what this client does
		v = look.at(p.PID)
		return Vitals{Condition: Runs}, "a model in metasim's own " + v.words(p.PID), line
	}
	pid := worker(p.PID)
	v = look.at(pid)
	words = v.words(pid)
	if pid != p.PID {
		words = fmt.Sprintf("process %d waits for its child: %s", p.PID, words)
	}
	return v, words, line
}

// others names those who have not joined either.
func others(shot *server.Snapshot, but *server.ClientSnapshot) string {
	const most = 3
	var names []string
	more := 0
	for i := range shot.Clients {
		switch c := &shot.Clients[i]; {
		case c.State != server.Absent || c == but:
		case len(names) < most:
			names = append(names, c.Name)
		default:
			more++
		}
	}
	switch {
	case len(names) == 0:
		return ""
	case more > 0:
		return fmt.Sprintf("; nor have %s and %d others", strings.Join(names, ", "), more)
	}
	return "; nor have " + strings.Join(names, ", ")
}

// span writes a length of real time as people say it.
func span(d time.Duration) string {
	switch {
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%.1f ms", d.Seconds()*1e3)
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 10*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// plain is text of others without what a terminal would take for a command.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
}
