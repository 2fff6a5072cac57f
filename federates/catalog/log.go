package catalog

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"unicode/utf8"

	"metasim/lcm"
	"metasim/metasim"
)

// Recorded is the value of a parameter of type Start that is written as `recorded`. Any other value is the time of the first event.
const Recorded metasim.Time = -1

// A LogCheck counts what of an event log is not published as it was recorded.
type LogCheck struct {
	Damaged int64 `json:"skipped_bytes"`            // bytes that are no whole event
	Stray   int64 `json:"stray_events,omitempty"`   // events whose stamp is none of the recording's: skipped
	Unnamed int64 `json:"unnamed_events,omitempty"` // events on channels whose names are no UTF-8: skipped
	Early   int64 `json:"early_events,omitempty"`   // events stamped before the run begins: skipped

	stray, unnamed string // the first of them, and where
	jump           string // the first jump of the stamps that stays
}

// refineLog reads the log for the channels in it.
func refineLog(in *Instance) error {
	file := Get[string](in, "file")
	wrong := func(what string, err error) error {
		return ParamErrors{{Model: "lcmlog", Param: "file", Wrong: fmt.Sprintf("is %q, which %s", file, what),
			Remedy: "name a log that lcm-logger wrote, relative to the scenario's directory", Err: err}}
	}
	seen := map[string]bool{}
	check, err := EachEvent(in, func(e lcm.Event) error {
		seen[e.Channel] = true
		return nil
	})
	if err != nil {
		return wrong("cannot be read: "+err.Error(), err)
	}
	if len(seen) == 0 {
		return wrong("holds no event of an LCM log", nil)
	}
	in.Ports.Publications = slices.Sorted(maps.Keys(seen))
	doubt := func(what, remedy string, args ...any) {
		in.Doubts = append(in.Doubts, &ParamError{Model: "lcmlog", Param: "file", Wrong: fmt.Sprintf(what, args...), Remedy: remedy})
	}
	if check.Stray > 0 {
		doubt("has events whose time is none of the recording's: %d, the first %s", "they are skipped and counted", check.Stray, check.stray)
	}
	if check.Unnamed > 0 {
		doubt("has events on channels whose names are no UTF-8: %d, the first %s",
			"they are skipped and counted", check.Unnamed, check.unnamed)
	}
	if check.Early > 0 {
		doubt("has events from before the run begins: %d", "write start: first, or they are skipped and counted", check.Early)
	}
	if check.jump != "" {
		doubt("has a jump in its times, %s", "cut the log there, or expect what follows at that time", check.jump)
	}
	return nil
}

// EachEvent calls each for every event of the log of an instance of lcmlog that can be published.
func EachEvent(in *Instance, each func(lcm.Event) error) (check LogCheck, err error) {
	if in.Env.Open == nil {
		return check, errors.New("no files are open to this client")
	}
	f, err := in.Env.Open(Get[string](in, "file"))
	if err != nil {
		return check, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	l := logReader{log: lcm.NewReader(f)}
	recorded := Get[metasim.Time](in, "start") == Recorded
	for {
		e, err := l.next()
		switch {
		case errors.Is(err, io.EOF):
			return l.check, nil
		case err != nil:
			return l.check, err
		case recorded && e.Time < 0:
			l.check.Early++
			continue
		}
		if err := each(e); err != nil {
			return l.check, err
		}
	}
}

// A logReader reads the events that can be published.
type logReader struct {
	log   *lcm.Reader
	ahead []lcm.Event
	ended error // of log
	prev  int64 // the stamp of the event before
	begun bool
	torn  int64
	check LogCheck
}

// An event is stray if its stamp is more than a day away from the event before it, and after at most maxStrays such events the stamps
// are again within a day. At the beginning and at the end of a log there is no second neighbour to compare with, and a recording may
// pause; so there the limit is a year.
const (
	dayMicros  = 24 * 3600 * 1_000_000
	yearMicros = 365 * dayMicros
	maxStrays  = 8
)

func (l *logReader) next() (lcm.Event, error) {
	for {
		e, ok := l.peek(0)
		if !ok {
			return e, l.ended
		}
		if n := l.strays(e.Time); n > 0 {
			if l.check.Stray == 0 {
				l.check.stray = fmt.Sprintf("event %d on %q at %d us", e.Number, e.Channel, e.Time)
				if l.begun {
					l.check.stray += fmt.Sprintf(", after %d us", l.prev)
				}
			}
			l.check.Stray += int64(n)
			l.ahead = slices.Delete(l.ahead, 0, n)
			continue
		}
		if l.begun && l.check.jump == "" && far(l.prev, e.Time, dayMicros) {
			l.check.jump = fmt.Sprintf("from %d us to %d us, at event %d on %q", l.prev, e.Time, e.Number, e.Channel)
		}
		l.ahead = slices.Delete(l.ahead, 0, 1)
		l.prev, l.begun = e.Time, true
		return e, nil
	}
}

// strays returns how many of the next events are stray. first is the stamp of the next event.
func (l *logReader) strays(first int64) int {
	if !l.begun {
		return l.strayFirst(first)
	}
	if !far(l.prev, first, dayMicros) {
		return 0
	}
	for n := 1; n <= maxStrays; n++ {
		e, ok := l.peek(n)
		switch {
		case !ok && far(l.prev, first, yearMicros):
			return n
		case !ok:
			return 0
		case !far(l.prev, e.Time, dayMicros):
			return n
		}
	}
	return 0
}

// strayFirst does what strays does at the beginning of a log.
func (l *logReader) strayFirst(first int64) int {
	for n := 1; n <= maxStrays; n++ {
		e, ok := l.peek(n)
		switch {
		case !ok:
			return min(1, n-1)
		case !far(first, e.Time, yearMicros):
			return 0
		}
	}
	return 1
}

// far reports whether two stamps are more than most apart.
func far(a, b int64, most uint64) bool { return uint64(max(a, b))-uint64(min(a, b)) > most }

// peek returns the event that comes n events after the next one.
func (l *logReader) peek(n int) (lcm.Event, bool) {
	for len(l.ahead) <= n && l.ended == nil {
		e, err := l.log.Next()
		var torn *lcm.TornError
		switch {
		case errors.As(err, &torn):
			l.torn = torn.Have
		case err != nil:
			l.ended = err
		case !utf8.ValidString(e.Channel):
			if l.check.Unnamed++; l.check.Unnamed == 1 {
				l.check.unnamed = fmt.Sprintf("event %d on %.40q", e.Number, e.Channel)
			}
		default:
			l.ahead = append(l.ahead, e)
		}
		l.check.Damaged = l.torn + l.log.Skipped()
	}
	if len(l.ahead) <= n {
		return lcm.Event{}, false
	}
	return l.ahead[n], true
}
