package session_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"metasim/internal/script"
	"metasim/metasim"
	"metasim/wire"
)

// rawBody returns the message of a command.
func rawBody(c *script.Command) (wire.Body, error) {
	at, _, err1 := timeArg(c, "at", metasim.Start)
	now, _, err2 := timeArg(c, "now", metasim.Start)
	promise, _, err3 := timeArg(c, "promise", now)
	want, _, err4 := timeArg(c, "want", metasim.Infinity)
	next, _, err5 := timeArg(c, "next", want)
	reaction, _, err6 := timeArg(c, "reaction", metasim.Start)
	if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
		return nil, err
	}
	acked := uint64(0)
	if text, ok := c.Arg("ack"); ok {
		acked, _ = strconv.ParseUint(text, 10, 64)
	}
	report := metasim.Report{Now: now, NoSendBefore: promise, NextEvent: next, Acked: acked}
	switch c.Name {
	case "hello":
		name, err := c.Word("a name")
		token, _ := c.Arg("token")
		version := uint64(wire.Version)
		if text, ok := c.Arg("version"); ok {
			version, _ = strconv.ParseUint(text, 10, 32)
		}
		return wire.Hello{Version: uint32(version), Name: name, Token: token, Publications: c.List("pub"), Subscriptions: c.List("sub"), Reaction: reaction.Time}, err
	case "send":
		channel, err := c.Word("a channel")
		payload, _ := c.Arg("payload")
		return &metasim.Send{Channel: channel, Sent: at, Payload: []byte(payload)}, err
	case "advance":
		return &metasim.Advance{Report: report}, nil
	case "wait":
		return &metasim.PollWait{Report: report, Want: want, Messages: c.Flag("messages")}, nil
	case "promise":
		text, err := c.Word("an instant")
		if err != nil {
			return nil, err
		}
		until, err := parseInstant(text)
		return &metasim.Promise{NoSendBefore: until}, err
	case "leave":
		return &metasim.Leave{Now: now, Acked: acked}, nil
	}
	return wire.Goodbye{}, nil
}

// describe puts a message into words.
func describe(body wire.Body) string {
	report := func(r metasim.Report) string {
		return fmt.Sprintf("now=%v promise=%v next=%v ack=%d", r.Now, r.NoSendBefore, r.NextEvent, r.Acked)
	}
	switch b := body.(type) {
	case *metasim.Send:
		return fmt.Sprintf("Send %s %q sent=%v", b.Channel, b.Payload, b.Sent)
	case *metasim.Promise:
		return fmt.Sprintf("Promise %v", b.NoSendBefore)
	case *metasim.Advance:
		return "Advance " + report(b.Report)
	case *metasim.PollWait:
		return fmt.Sprintf("PollWait %s want=%v messages=%v", report(b.Report), b.Want, b.Messages)
	case *metasim.Leave:
		return fmt.Sprintf("Leave now=%v ack=%d result=%q", b.Now, b.Acked, b.Result)
	case *metasim.Deliver:
		m := b.Message
		return fmt.Sprintf("Deliver %d from=%d %s %q sent=%v due=%v", b.Number, m.From, m.Channel, m.Payload, m.Sent, m.Due)
	case *metasim.Authorize:
		return fmt.Sprintf("Authorize until=%v quiet=%v", b.Until, b.QuietUntil)
	}
	return strings.TrimPrefix(fmt.Sprintf("%T %+v", body, body), "wire.")
}

func timeArg(c *script.Command, key string, otherwise metasim.Instant) (i metasim.Instant, given bool, err error) {
	text, given := c.Arg(key)
	if !given {
		return otherwise, false, nil
	}
	i, err = parseInstant(text)
	return i, true, err
}

// parseInstant reads 5ms, 1s+3 or inf.
func parseInstant(text string) (metasim.Instant, error) {
	if text == "inf" {
		return metasim.Infinity, nil
	}
	text, step, _ := strings.Cut(text, "+")
	d, err := time.ParseDuration(text)
	n, err2 := strconv.ParseUint("0"+step, 10, 32)
	return metasim.Instant{Time: metasim.Time(d), Step: uint32(n)}, errors.Join(err, err2)
}
