package export

import (
	"slices"

	"metasim/metasim"
	"metasim/record"
)

// A view is the part of a run that an export has: all clients or one.
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
		return view{}, &record.UnknownClientError{Client: client, Known: names}
	}
	return view{names: names, only: metasim.ClientID(i)}, nil
}

// time returns when something occurred, in nanoseconds from 0.
func (v *view) time(o *occurrence) (metasim.Time, error) {
	at := o.At()
	if at.Time < 0 || at.Time == metasim.Forever {
		return 0, &TimeError{Client: v.names[o.Message.From], Channel: o.Message.Channel, Kind: o.Kind, At: at}
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

// topics has the names of streams as on the public bus: CHANNEL@sender for what was sent, CHANNEL@sender>recipient for what was
// delivered. Each name is made once.
type topics struct {
	names []string
	known map[stream]string
}

func newTopics(names []string) topics { return topics{names, map[stream]string{}} }

func (t *topics) of(o *occurrence) string {
	s := streamOf(o)
	name, ok := t.known[s]
	if !ok {
		name = s.channel + "@" + t.names[s.from]
		if s.kind == Delivered {
			name += ">" + t.names[s.to]
		}
		t.known[s] = name
	}
	return name
}
