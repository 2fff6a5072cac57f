package inspect

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"metasim/lcm"
	"metasim/lcm/types"
	"metasim/metasim"
)

// PrintOptions say how to print a log.
type PrintOptions struct {
	JSON  bool
	Types *types.Set // those that messages are decoded by
	// Channels is the name of a channel or an expression that matches whole names. Empty: all channels, also those with a line
	// break in their name, which .* does not match.
	Channels string
	// Window bounds the times that are printed. Nil: all.
	Window *Window
	// Wait is called at the end of the log. If it returns true, Print looks whether the log has grown; if false, Print returns.
	// Nil: Print returns at the end of the log.
	Wait func() bool
}

// A Window is a part of a log, from From up to and without Until.
type Window struct{ From, Until Bound }

// A Bound is a time in microseconds, as in the log or from its first event. Without Set there is none.
type Bound struct {
	Micros   int64
	Relative bool
	Set      bool
}

// has reports whether an event is in the window. first is the stamp of the log's first event.
func (w *Window) has(stamp, first int64) bool {
	at := func(b Bound) int64 {
		if b.Relative {
			return first + b.Micros
		}
		return b.Micros
	}
	return w == nil || (!w.From.Set || stamp >= at(w.From)) && (!w.Until.Set || stamp < at(w.Until))
}

// A Printed says what was not well with a log that was printed.
type Printed struct {
	Check
	Bad      int64 // messages that have the fingerprint of a type and do not decode as one
	FirstBad int64 // the number of the first
	Why      error // of the first
	// Channels lists the channels of the log. Matched says whether one of them was wanted.
	Matched  bool
	Channels []string
}

// Print writes the events of a log, one a line.
func Print(w io.Writer, log io.Reader, o PrintOptions) (Printed, error) {
	p := &printer{w: w, options: o, wanted: map[string]bool{}}
	f := follower{log: log, wait: o.Wait}
	err := f.read(&p.Check, p.print)
	p.Channels = slices.Sorted(maps.Keys(p.wanted))
	return p.Printed, err
}

type printer struct {
	w       io.Writer
	options PrintOptions
	wanted  map[string]bool // the channels seen so far
	first   int64           // the stamp of the first event
	text    []byte          // of the last message
	Printed
}

// A printedLine is an event as JSON. It has a value, or the payload as hexadecimal digits.
type printedLine struct {
	Number int64 `json:"number"`
	Time   int64 `json:"time_us"`
	channelName
	Size  int             `json:"size"`
	Type  string          `json:"type,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
	Hex   *string         `json:"hex,omitempty"`
	Error string          `json:"error,omitempty"` // why it is not of the type
}

func (p *printer) print(ev lcm.Event) error {
	wanted, asked := p.wanted[ev.Channel]
	if !asked {
		wanted = p.options.Channels == "" || metasim.MatchSubscription(p.options.Channels, ev.Channel)
		p.wanted[ev.Channel] = wanted
		p.Matched = p.Matched || wanted
	}
	if p.Events == 1 {
		p.first = ev.Time
	}
	if !wanted || !p.options.Window.has(ev.Time, p.first) {
		return nil
	}
	typ, err := p.decode(ev)
	if p.options.JSON {
		return p.printJSON(ev, typ, err)
	}
	payload := p.text
	switch {
	case len(ev.Payload) == 0:
		payload = []byte("(empty)")
	case typ == nil || err != nil:
		payload = hex.AppendEncode(p.text[:0], ev.Payload)
		p.text = payload
	}
	_, err = fmt.Fprintf(p.w, "%s %s %s\n", seconds(ev.Time), word(ev.Channel), payload)
	return err
}

// decode puts the message into p.text. It is of no known type if typ is nil, and does not fit typ if there is an error.
func (p *printer) decode(ev lcm.Event) (typ *types.Type, wrong error) {
	for _, t := range p.options.Types.Of(ev.Payload) {
		text, err := t.AppendJSON(p.text[:0], ev.Payload)
		if err == nil {
			p.text = text
			return t, nil
		}
		if wrong == nil {
			typ, wrong = t, err
		}
	}
	if wrong != nil {
		if p.Bad++; p.Bad == 1 {
			p.FirstBad, p.Why = ev.Number, wrong
		}
	}
	return typ, wrong
}

func (p *printer) printJSON(ev lcm.Event, typ *types.Type, wrong error) error {
	line := printedLine{Number: ev.Number, Time: ev.Time, channelName: nameOf(ev.Channel), Size: len(ev.Payload)}
	if typ != nil {
		line.Type = typ.Name
	}
	if typ != nil && wrong == nil {
		line.Value = p.text
	} else {
		digits := hex.EncodeToString(ev.Payload)
		line.Hex = &digits
	}
	if wrong != nil {
		line.Error = wrong.Error()
	}
	e := json.NewEncoder(p.w)
	e.SetEscapeHTML(false)
	if err := e.Encode(line); err != nil {
		return errors.Join(fmt.Errorf("event %d", ev.Number), err)
	}
	return nil
}
