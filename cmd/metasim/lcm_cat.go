package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"metasim/lcm"
	"metasim/lcm/types"
	"metasim/metasim"
)

func newLCMCat(std streams) *cobra.Command {
	var asJSON bool
	var paths []string
	var pattern string
	cmd := &cobra.Command{
		Use:   "cat FILE",
		Short: "Print the messages of an event log",
		Long: "Print the messages of an event log, one a line, in the order of the file: seconds, channel, and the message as JSON,\n" +
			"or in hexadecimal digits if it is of no known type.",
		Args: exactlyOne("log"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := metasim.CheckSubscription(pattern); err != nil {
				return badUsage(fmt.Errorf("--channel %q is no channel and no pattern: %w; write it as \"POSE_.*\"", pattern, err))
			}
			known, err := loadTypes(paths)
			if err != nil {
				return err
			}
			p := logPrinter{w: bufio.NewWriter(std.out), asJSON: asJSON, known: known, pattern: pattern, wanted: map[string]bool{}}
			check, err := readLCM(args[0], p.print)
			if flushed := p.w.Flush(); flushed != nil && err == nil {
				err = failed(flushed)
			}
			if err != nil {
				return err
			}
			if text := check.disorder(); text != "" {
				fmt.Fprintf(std.err, "warning: %s\n", text)
			}
			if p.bad > 0 {
				fmt.Fprintf(std.err, "warning: %d messages have the fingerprint of a type and are none; the first is event %d: %v\n",
					p.bad, p.firstBad, p.why)
			}
			return check.damage(args[0])
		},
	}
	addTypes(cmd, &paths)
	cmd.Flags().StringVar(&pattern, "channel", "", "only the channel of this name, or those that this regular `expression` matches as a whole")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return cmd
}

// A logPrinter prints events.
type logPrinter struct {
	w       *bufio.Writer
	asJSON  bool
	known   *types.Set
	pattern string          // none: all channels, also those with line breaks, which .* does not match
	wanted  map[string]bool // channels that were asked about
	text    []byte          // of the last message

	bad      int64 // messages that do not fit the type that they claim to have
	firstBad int64 // the number of the first
	why      error
}

// A catLine is an event as JSON. It has a value, or the payload as hexadecimal digits.
type catLine struct {
	Number int64 `json:"number"`
	Time   int64 `json:"time_us"`
	channelName
	Size  int             `json:"size"`
	Type  string          `json:"type,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
	Hex   *string         `json:"hex,omitempty"`
	Error string          `json:"error,omitempty"` // why it is not of the type
}

func (p *logPrinter) print(ev lcm.Event) error {
	wanted, asked := p.wanted[ev.Channel]
	if !asked {
		wanted = p.pattern == "" || metasim.MatchSubscription(p.pattern, ev.Channel)
		p.wanted[ev.Channel] = wanted
	}
	if !wanted {
		return nil
	}
	typ, err := p.decode(ev)
	if p.asJSON {
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
	_, err = fmt.Fprintf(p.w, "%s %s %s\n", stampText(ev.Time), channelText(ev.Channel), payload)
	return err
}

// decode puts the message into p.text. It is of no known type if typ is nil, and does not fit typ if there is an error.
func (p *logPrinter) decode(ev lcm.Event) (typ *types.Type, wrong error) {
	for _, t := range p.known.Of(ev.Payload) {
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
		if p.bad++; p.bad == 1 {
			p.firstBad, p.why = ev.Number, wrong
		}
	}
	return typ, wrong
}

func (p *logPrinter) printJSON(ev lcm.Event, typ *types.Type, wrong error) error {
	line := catLine{Number: ev.Number, Time: ev.Time, channelName: nameOf(ev.Channel), Size: len(ev.Payload)}
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
