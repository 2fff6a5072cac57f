package export

import (
	"fmt"
	"slices"

	"metasim/metasim"
)

// A NameError tells that a name does not fit a format.
type NameError struct {
	Name string
	What string // the format
	Max  int    // bytes of a name; 0 where only the characters count
}

func (e *NameError) Error() string {
	if e.Max == 0 {
		return fmt.Sprintf("export: the name %q does not fit %s, where names are UTF-8; rename the channel", e.Name, e.What)
	}
	return fmt.Sprintf("export: the name %.100q has %d bytes and does not fit %s, where names have 1 to %d bytes and no NUL; "+
		"shorten the names of the channel and of its clients", e.Name, len(e.Name), e.What, e.Max)
}

// A TimeError tells that something occurred at an instant that no format can tell.
type TimeError struct {
	Client, Channel string
	Kind            Kind
	At              metasim.Instant
}

func (e *TimeError) Error() string {
	return fmt.Sprintf("export: a message of %q on %q is %v at %v, which is no time for a file; give the run an end (until)",
		e.Client, e.Channel, e.Kind, e.At)
}

// A Sink is what an export is written to: a [Log] or an [MCAP].
type Sink interface {
	// Write takes the next occurrence of a [Walk], of which it keeps nothing.
	Write(*Occurrence) error
	// Close writes what is left. It does not close the file.
	Close() error
	// Count returns what was written so far.
	Count() Count
}

// A Count is what an export came to.
type Count struct {
	Messages  int64        // how many the file has
	Empty     int64        // of those in a log, with an empty payload
	Undecoded int64        // payloads that begin as a known type and are none
	Last      metasim.Time // when the last one occurred
}

// A view is the part of a run that an export shows: all of it, or one client.
type view struct {
	names []string
	only  metasim.ClientID
	all   bool
}

func newView(names []string, client string) (view, error) {
	if client == "" {
		return view{names: names, all: true}, nil
	}
	i := slices.Index(names, client)
	if i < 0 {
		return view{}, fmt.Errorf("the run has no client %q; it has %q", client, names)
	}
	return view{names: names, only: metasim.ClientID(i)}, nil
}

// time returns when something occurred, in nanoseconds from 0.
func (v *view) time(o *Occurrence) (metasim.Time, error) {
	at := o.At()
	if at.Time < 0 || at.Time == metasim.Forever {
		return 0, &TimeError{Client: v.names[o.Message.From], Channel: o.Message.Channel, Kind: o.Kind, At: at}
	}
	return at.Time, nil
}

// topics are names as on the public bus: CHANNEL@sender for what was sent, CHANNEL@sender>recipient for what was
// delivered. They are made once.
type topics struct {
	names []string
	known map[stream]string
}

// A stream is the messages that one client sends on a channel, or those of them that another one gets.
type stream struct {
	channel string
	kind    Kind
	from    metasim.ClientID
	to      metasim.ClientID
}

func streamOf(o *Occurrence) stream {
	return stream{channel: o.Message.Channel, kind: o.Kind, from: o.Message.From, to: o.To}
}

func newTopics(names []string) topics { return topics{names, map[stream]string{}} }

func (t *topics) of(o *Occurrence) string {
	s := streamOf(o)
	name, ok := t.known[s]
	if !ok {
		name = t.name(s)
		t.known[s] = name
	}
	return name
}

func (t *topics) name(s stream) string {
	name := s.channel + "@" + t.names[s.from]
	if s.kind == Delivered {
		name += ">" + t.names[s.to]
	}
	return name
}
