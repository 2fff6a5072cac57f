package export

import (
	"fmt"
	"slices"

	"metasim/metasim"
	"metasim/record"
)

// A view is what the files of an export have in common: the part of a run that they show, all clients or one, and how much of it was
// written.
type view struct {
	names  []string
	only   metasim.ClientID
	all    bool
	topics map[stream]string // each name is made once
	count  Count
}

func newView(names []string, client string) (view, error) {
	v := view{names: names, all: client == "", topics: map[stream]string{}}
	if v.all {
		return v, nil
	}
	i := slices.Index(names, client)
	if i < 0 {
		return view{}, &record.UnknownClientError{Client: client, Known: names}
	}
	v.only = metasim.ClientID(i)
	return v, nil
}

// Count returns what was written so far.
func (v *view) Count() Count { return v.count }

// time returns when something occurred, in nanoseconds from 0.
func (v *view) time(o *occurrence) (metasim.Time, error) {
	at := o.At()
	if at.Time < 0 || at.Time == metasim.Forever {
		return 0, fmt.Errorf("a message of %q on %q is %v at %v, which no file can have as a time; give the run an end (until)",
			v.names[o.Message.From], o.Message.Channel, o.Kind, at)
	}
	return at.Time, nil
}

// A stream is the messages that one client sends on a channel, or those of them that one other client receives.
type stream struct {
	channel string
	kind    Kind
	from    metasim.ClientID
	to      metasim.ClientID
}

func streamOf(o *occurrence) stream {
	return stream{channel: o.Message.Channel, kind: o.Kind, from: o.Message.From, to: o.To}
}

// topic returns the name of a stream as on the public bus: CHANNEL@sender for what was sent, CHANNEL@sender>recipient for what was
// delivered.
func (v *view) topic(o *occurrence) string {
	s := streamOf(o)
	name, ok := v.topics[s]
	if !ok {
		name = s.channel + "@" + v.names[s.from]
		if s.kind == Delivered {
			name += ">" + v.names[s.to]
		}
		v.topics[s] = name
	}
	return name
}
