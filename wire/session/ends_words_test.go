package session_test

import (
	"fmt"

	"metasim/internal/script"
	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/session"
)

// rawBody returns the message of a command.
func rawBody(c *script.Command) (wire.Body, error) {
	r := &reader{arguments: c}
	instantOr := func(key string, otherwise metasim.Instant) metasim.Instant {
		if text, ok := c.Arg(key); ok {
			i, err := readInstant(text)
			r.fail(err)
			return metasim.Instant(i)
		}
		return otherwise
	}
	word := func(what string) string {
		text, err := c.Word(what)
		r.fail(err)
		return text
	}
	var body wire.Body
	switch c.Name {
	case "hello":
		h := wire.Hello{Version: uint32(r.number("version")), Name: word("a name"), Token: r.text("token"),
			Publications: c.List("pub"), Subscriptions: c.List("sub"), Reaction: r.instant("reaction").Time}
		if h.Version == 0 {
			h.Version = wire.Version
		}
		return h, r.err
	case "send":
		return &metasim.Send{Channel: word("a channel"), Sent: r.instant("at"), Payload: []byte(r.text("payload"))}, r.err
	case "promise":
		i, err := readInstant(word("an instant"))
		r.fail(err)
		return &metasim.Promise{NoSendBefore: metasim.Instant(i)}, r.err
	case "leave":
		return &metasim.Leave{Now: r.instant("now"), Acked: r.number("ack"), Result: []byte(r.text("result"))}, r.err
	case "failed":
		return wire.Failed{Reason: word("a reason")}, r.err
	case "goodbye":
		return wire.Goodbye{}, nil
	}
	now, want := r.instant("now"), instantOr("want", metasim.Infinity)
	report := metasim.Report{Now: now, NoSendBefore: instantOr("promise", now), NextEvent: instantOr("next", want), Acked: r.number("ack")}
	body = &metasim.Advance{Report: report}
	if c.Name == "wait" {
		body = &metasim.PollWait{Report: report, Want: want, Messages: c.Flag("messages")}
	}
	return body, r.err
}

// describe puts a message into words.
func describe(p wire.Packet) string {
	p.Member = 0
	o := fieldsOf(p)
	if len(o) == 1 {
		return fmt.Sprint(o[0].value)
	}
	return fmt.Sprintf("%v %v", o[0].value, o[1:])
}

// allow limits the channels of a client of the server that new makes.
func (e *ends) allow(c *script.Command) error {
	name, err := c.Word("a client")
	if err != nil {
		return err
	}
	var p session.Permission
	if p.Publish, err = session.NewChannels("publish", c.List("pub")); err != nil {
		return err
	}
	if p.Subscribe, err = session.NewChannels("subscribe", c.List("sub")); err != nil {
		return err
	}
	if c.Flag("any") {
		p.Subscribe = p.Subscribe.AnyExpression()
	}
	if e.allowed == nil {
		e.allowed, e.tokens = map[string]session.Permission{}, map[string]string{}
	}
	if token, own := c.Arg("token"); own {
		e.tokens[name] = token
	}
	e.allowed[name] = p
	return nil
}
