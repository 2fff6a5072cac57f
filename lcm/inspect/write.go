package inspect

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"metasim/lcm"
	"metasim/lcm/types"
)

// A writtenLine is a line of Print's JSON. Fields that Write does not need are left out.
type writtenLine struct {
	printedLine
	Number *int64 `json:"number"`
	Time   *int64 `json:"time_us"`
	Size   *int   `json:"size"`
}

// Write makes a log of lines as Print writes them as JSON, and returns the number of events. A message is made of its hex, or of its
// type and value. An event without a number gets that of the event before it, plus one.
func Write(w io.Writer, lines io.Reader, known *types.Set) (events int64, err error) {
	out, number := lcm.NewWriter(w), int64(-1)
	in := bufio.NewReader(lines)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return events, err
		}
		if text := bytes.TrimSpace(line); len(text) > 0 {
			ev, wrong := event(text, number+1, known)
			if wrong == nil {
				wrong = out.Write(ev)
			}
			if wrong != nil {
				return events, fmt.Errorf("line %d: %w", n, wrong)
			}
			number = ev.Number
			events++
		}
		if err != nil {
			return events, nil
		}
	}
}

// event makes an event of a line.
func event(text []byte, number int64, known *types.Set) (ev lcm.Event, err error) {
	var l writtenLine
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		return ev, fmt.Errorf("it is no message as metasim lcm cat --json prints it: %w", err)
	}
	if l.Time == nil {
		return ev, errors.New("time_us is missing; write the time in microseconds")
	}
	ev = lcm.Event{Number: number, Time: *l.Time, Channel: l.Channel}
	if l.Number != nil {
		ev.Number = *l.Number
	}
	if l.Base64 != "" {
		name, err := base64.StdEncoding.DecodeString(l.Base64)
		if err != nil {
			return ev, fmt.Errorf("channel_base64: %w", err)
		}
		ev.Channel = string(name)
	}
	if ev.Payload, err = l.payload(known); err != nil {
		return ev, err
	}
	if l.Size != nil && *l.Size != len(ev.Payload) {
		return ev, fmt.Errorf("size is %d, and the message has %d bytes; leave size out where the message was changed", *l.Size, len(ev.Payload))
	}
	return ev, nil
}

// payload makes the bytes of the message.
func (l *writtenLine) payload(known *types.Set) ([]byte, error) {
	switch {
	case l.Hex != nil && l.Value != nil:
		return nil, errors.New("there are both hex and value; leave one out")
	case l.Hex != nil:
		b, err := hex.DecodeString(*l.Hex)
		if err != nil {
			return nil, fmt.Errorf("hex: %w", err)
		}
		return b, nil
	case l.Value == nil:
		return nil, errors.New("there is neither a hex nor a value; write hex, or type and value")
	}
	t := known.Lookup(l.Type)
	if t == nil {
		return nil, fmt.Errorf("the type %q is not known; give its .lcm file with --types", l.Type)
	}
	return t.Encode(l.Value)
}
