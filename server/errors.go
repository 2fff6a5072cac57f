package server

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"metasim/metasim"
	"metasim/wire/session"
)

// ErrOver is returned by a command to a run that is over.
var ErrOver = errors.New("the run is over")

// ErrNotDriven is returned by Initialize and AdvanceTo of a server that runs by itself.
var ErrNotDriven = errors.New("the run is not driven; set Config.Driven")

// A LostError ends a run: a client went away without leaving. That is not the same as leaving: what the client
// would have sent is not known.
type LostError struct {
	Client       string
	Joined       bool
	Started      bool            // all had joined, so that the run had begun
	Now          metasim.Instant // its last activity, as far as it said
	Granted      metasim.Instant // it may have been anywhere between Now and this
	NoSendBefore metasim.Instant // what it had promised
	Cause        string          // "the connection was closed", ...
	Said         bool            // it said itself that it failed: Cause has its reason
	Holder       *Holder         // who held it back as it said so; nil: nobody did
	Restarts     int             // how often it was started again before
	Again        bool            // it has on_exit: restart
	Process      ProcessEnd
}

// A Holder is the client that another one waited for: it did not wait itself. Of several that the other one waited for it is one.
type Holder struct {
	Client string
	Silent time.Duration   // for how long nothing had been heard of it, on the wall
	Now    metasim.Instant // its last activity, as far as it said
}

// A ProcessEnd tells how the process of a client ended.
type ProcessEnd struct {
	Exit   string   // "exit status 3", "signal: killed", "error: ..."; empty if nothing is known
	Output []string // the last lines of its stderr
}

// Error says first why the client failed, if it said so, else how the process ended and what it said last. How its connection broke follows
// from that.
func (e *LostError) Error() string {
	var s strings.Builder
	fmt.Fprintf(&s, "client %q was lost", e.Client)
	if e.Restarts > 0 {
		fmt.Fprintf(&s, " again, after it was started again %s", times(e.Restarts))
	}
	if !e.Joined {
		fmt.Fprintf(&s, " before it joined: %s", e.Cause)
		if e.Process.Exit != "" {
			fmt.Fprintf(&s, " (%s)", e.Process.Exit)
		}
		s.WriteString("; see that it starts, and joins as METASIM_CLIENT, METASIM_SERVER and METASIM_TOKEN say")
		e.writeOutput(&s)
		return s.String()
	}
	how, connection, remedy := cmp.Or(e.Process.Exit, e.Cause), "", "a client ends with a leave, or has on_exit: detach"
	switch {
	case e.Said:
		remedy = "with on_exit: detach the run goes on without it"
		if e.Again {
			remedy = "it is not started again, as it would fail again: mend it, or give it on_exit: detach, with which the run goes on without it"
		}
		if how = e.Cause; e.Process.Exit != "" {
			how += "; " + e.Process.Exit
		}
	case e.Process.Exit != "" && !strings.Contains(e.Process.Exit, e.Cause): // else they are one, as where a host was lost
		connection = "after that: " + e.Cause
	}
	fmt.Fprintf(&s, " (%s)%s", how, e.where())
	if connection != "" && len(e.Process.Output) == 0 {
		s.WriteString("; " + connection)
		connection = ""
	}
	if h := e.Holder; h != nil {
		fmt.Fprintf(&s, "; it waited for client %q, which was at %v and had been silent for %v", h.Client, h.Now, h.Silent.Round(time.Millisecond))
	}
	s.WriteString("; " + remedy)
	e.writeOutput(&s)
	if connection != "" {
		s.WriteString("\n" + connection)
	}
	return s.String()
}

// where says where a client was that had joined, as far as that can be known.
func (e *LostError) where() string {
	if !e.Started {
		return " before the run began"
	}
	upTo := ""
	switch {
	case e.Granted == metasim.Infinity:
		upTo = ", may have been anywhere after that"
	case e.Now.Before(e.Granted):
		upTo = fmt.Sprintf(", may have been up to %v", e.Granted)
	}
	return fmt.Sprintf(": it was last heard of at %v%s, and had promised to send nothing before %v", e.Now, upTo, e.NoSendBefore)
}

func (e *LostError) writeOutput(s *strings.Builder) {
	if len(e.Process.Output) == 0 {
		return
	}
	fmt.Fprintf(s, "\nlast output of %q:", e.Client)
	for _, line := range e.Process.Output {
		s.WriteString("\n  | " + line)
	}
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// A RepeatError ends a run: a client that was started again did not do again what it had done. What it had sent has reached others.
type RepeatError struct {
	Client     string
	Restarts   int
	Difference *session.Difference
}

func (e *RepeatError) Error() string {
	return fmt.Sprintf("client %q was started again and did not repeat itself: %v; on_exit: restart is for a client that does the same "+
		"each time: it reads no clock, no random numbers but its seed, and no file that it changes", e.Client, e.Difference)
}

// A StartError ends a run that did not start in time.
type StartError struct {
	After   time.Duration // the limit
	Missing []string      // clients that have not joined
	Disk    bool          // the run waits for a disk that does not take its journal
	Again   bool          // the client was started again, and has not joined since
}

func (e *StartError) Error() string {
	if e.Disk {
		return fmt.Sprintf("the run did not start within %v: the disk does not take its journal; see to the disk, or use another with --out", e.After)
	}
	if e.Again {
		return fmt.Sprintf("client %q has to be started again and has not joined within %v; see that it starts, or raise start_timeout", e.Missing[0], e.After)
	}
	names, verb := strings.Join(e.Missing[:min(8, len(e.Missing))], ", "), "has"
	if more := len(e.Missing) - 8; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	if len(e.Missing) > 1 {
		verb = "have"
	}
	return fmt.Sprintf("%s %s not joined after %v; start the client, check its server address and token, or raise start_timeout",
		names, verb, e.After)
}

// An ObserverError ends a run that an observer could not record.
type ObserverError struct{ Err error }

func (e *ObserverError) Error() string { return "the run cannot be recorded: " + e.Err.Error() }
func (e *ObserverError) Unwrap() error { return e.Err }
