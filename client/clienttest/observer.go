package clienttest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	"metasim/metasim"
	"metasim/server"
)

// An observer keeps what happens in a run.
type observer struct {
	given []metasim.Deliver
	left  map[metasim.ClientID]metasim.Leave
}

// Observe implements server.Observer.
func (o *observer) Observe(_ int64, ev metasim.Event, effects []metasim.Effect) error {
	if l, ok := ev.(*metasim.Leave); ok {
		if o.left == nil {
			o.left = map[metasim.ClientID]metasim.Leave{}
		}
		o.left[l.Client] = metasim.Leave{Acked: l.Acked, Result: bytes.Clone(l.Result)}
	}
	for _, e := range effects {
		if d, ok := e.(*metasim.Deliver); ok {
			kept := *d
			kept.Message.Payload = bytes.Clone(d.Message.Payload)
			o.given = append(o.given, kept)
		}
	}
	return nil
}

// transcript returns what happened in a run that is over. What a client was given beyond what it handled before it left depends on real
// time: it does not count.
func (o *observer) transcript(r server.Result) Transcript {
	seen := Transcript{Results: map[string]json.RawMessage{}, Digest: r.Digest}
	slices.SortFunc(o.given, func(a, b metasim.Deliver) int {
		return cmp.Or(a.Message.Due.Compare(b.Message.Due), cmp.Compare(a.To, b.To), cmp.Compare(a.Number, b.Number))
	})
	name := func(id metasim.ClientID) string { return r.Clients[id].Name }
	for _, d := range o.given {
		if m := d.Message; d.Number <= o.left[d.To].Acked {
			seen.Deliveries = append(seen.Deliveries, Delivery{
				From: name(m.From), To: name(d.To), Channel: m.Channel, Sent: m.Sent, Due: m.Due, Payload: m.Payload,
			})
		}
	}
	for i := range r.Clients {
		if result := o.left[metasim.ClientID(i)].Result; len(result) > 0 {
			seen.Results[name(metasim.ClientID(i))] = result
		}
	}
	return seen
}
