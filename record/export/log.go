package export

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"metasim/lcm"
	"metasim/metasim"
)

// maxLogChannel is the longest channel name in bytes that all readers of event logs take: that is the limit of those in Java; those in
// C take 999 bytes. (On the network LCM allows 63.)
const maxLogChannel = 255

// An eventLog writes an LCM event log of a run. Times are simulated time in microseconds, rounded down; events are numbered
// from 0 in the order of walkJournal, so that neither decreases.
//
// Channels have their own names. But in a log of the deliveries of all clients, where a message can appear several times, they are
// called CHANNEL@sender>recipient, as on the public bus, unless plain names are asked for.
//
// Empty payloads are written, as lcm-logger does. The Java tools of LCM skip such an event as damaged.
type eventLog struct {
	view
	of    Kind // Sent: every publish once, as lcm-logger would have recorded it; Delivered: every message once for each recipient
	plain bool
	buf   *bufio.Writer
	log   *lcm.Writer
}

// newEventLog returns a writer of an event log to out. Close does not close out.
func newEventLog(out io.Writer, v view, of Kind, plain bool) *eventLog {
	buf := bufio.NewWriterSize(out, 1<<20)
	return &eventLog{view: v, of: of, plain: plain || of == Sent || !v.all, buf: buf, log: lcm.NewWriter(buf)}
}

// Kinds implements sink.
func (l *eventLog) Kinds() kindSet { return kindsOf(l.of) }

// Write writes an occurrence, if the log has it.
func (l *eventLog) Write(o *occurrence) error {
	if o.Kind != l.of || !l.shows(o) {
		return nil
	}
	at, err := l.time(o)
	if err != nil {
		return err
	}
	name := o.Message.Channel
	if !l.plain {
		name = l.topic(o)
	}
	if len(name) > maxLogChannel || strings.IndexByte(name, 0) >= 0 || name == "" {
		return fmt.Errorf("the name %.100q has %d bytes and does not fit event logs of LCM, where names have 1 to %d bytes and no NUL; "+
			"shorten the names of the channel and of its clients", name, len(name), maxLogChannel)
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

// shows reports whether the log has the client of an occurrence.
func (l *eventLog) shows(o *occurrence) bool {
	return l.all || o.Kind == Sent && o.Message.From == l.only || o.Kind == Delivered && o.To == l.only
}

// Close writes what is buffered.
func (l *eventLog) Close() error { return l.buf.Flush() }
