package export

import (
	"bufio"
	"io"
	"strings"

	"metasim/lcm"
	"metasim/metasim"
)

// maxLogChannel is the longest channel name that all stock readers of event logs take: those in Java; those in C would
// take 999 bytes. (On the network LCM allows 63.)
const maxLogChannel = 255

// LogOptions say what an event log has of a run.
type LogOptions struct {
	// Of is Sent (also the zero value): every publish once, at the time when it was sent, as lcm-logger would have
	// recorded it. Or Delivered: every message at the time when it reached a client, once for each that it reached.
	Of Kind
	// Client is the name of the only client whose publishes, or deliveries, are in the log; empty for all.
	Client string
}

// A Log writes an LCM event log of a run. Times are simulated time in microseconds, rounded down; events are numbered
// from 0 in the order of [Walk], so that neither ever goes back.
//
// Channels have their own names, but not where one message may be there several times: in a log of the deliveries of all
// clients they are called CHANNEL@sender>recipient, as on the public bus.
//
// Empty payloads are written, as lcm-logger does. The Java tools of LCM take such an event for damage and pass over it.
type Log struct {
	view
	of    Kind
	plain bool
	buf   *bufio.Writer
	log   *lcm.Writer
	topic topics
	count Count
}

// NewLog returns a writer of an event log to out. Names are those of the clients, in order. Close does not close out.
func NewLog(out io.Writer, names []string, o LogOptions) (*Log, error) {
	v, err := newView(names, o.Client)
	if err != nil {
		return nil, err
	}
	if o.Of == 0 {
		o.Of = Sent
	}
	buf := bufio.NewWriterSize(out, 1<<20)
	return &Log{
		view: v, of: o.Of, plain: o.Of == Sent || o.Client != "", buf: buf, log: lcm.NewWriter(buf), topic: newTopics(names),
	}, nil
}

// Write writes an occurrence, if it belongs into the log.
func (l *Log) Write(o *Occurrence) error {
	if o.Kind != l.of || !l.shows(o) {
		return nil
	}
	at, err := l.time(o)
	if err != nil {
		return err
	}
	name := o.Message.Channel
	if !l.plain {
		name = l.topic.of(o)
	}
	if len(name) > maxLogChannel || strings.IndexByte(name, 0) >= 0 || name == "" {
		return &NameError{Name: name, What: "event logs of LCM", Max: maxLogChannel}
	}
	ev := lcm.Event{Number: l.count.Messages, Time: int64(at / metasim.Microsecond), Channel: name, Payload: o.Message.Payload}
	if err := l.log.Write(ev); err != nil {
		return err
	}
	l.count.Messages++
	l.count.Last = at
	if len(ev.Payload) == 0 {
		l.count.Empty++
	}
	return nil
}

// shows reports whether an occurrence is of the client whose log it is.
func (l *Log) shows(o *Occurrence) bool {
	return l.all || o.Kind == Sent && o.Message.From == l.only || o.Kind == Delivered && o.To == l.only
}

// Close writes what is left.
func (l *Log) Close() error { return l.buf.Flush() }

// Count returns what was written so far.
func (l *Log) Count() Count { return l.count }
