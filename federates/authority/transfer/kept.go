package transfer

import (
	"maps"
	"slices"

	"metasim/metasim"
)

// A Kept is all that a homeserver keeps of one entity. A homeserver whose entities are in a store makes a Homeserver for one message: it restores the
// entity of the message, has the message received, and writes down what is kept then.
type Kept struct {
	Record
	Said  []Said  `json:"said,omitempty"`  // what each requester was told last, in the order of their names
	Asked []Asked `json:"asked,omitempty"` // of the master, in this order
}

// A Said is what was sent because of a request, to be sent again if the request comes again.
type Said struct {
	Requester string   `json:"requester"`
	ID        uint64   `json:"id"`
	Out       Envelope `json:"out"`
}

// An Asked is a request that waits for the master's answer.
type Asked struct {
	Request Message      `json:"request"`
	Out     Envelope     `json:"out"`
	Until   metasim.Time `json:"until"` // when the master has been waited for long enough
}

// Keep returns what is kept of an entity.
func (h *Homeserver) Keep(entity string) (out Kept, known bool) {
	k := h.records[entity]
	if k == nil {
		return Kept{}, false
	}
	out = Kept{Record: k.Record}
	for _, requester := range slices.Sorted(maps.Keys(k.last)) {
		s := k.last[requester]
		out.Said = append(out.Said, Said{requester, s.id, s.out})
	}
	for _, q := range h.asked {
		if q.request.Entity == entity {
			out.Asked = append(out.Asked, Asked{q.request, q.out, q.until})
		}
	}
	return out, true
}

// Restore adds an entity as it was kept.
func (h *Homeserver) Restore(entity string, in Kept) {
	h.Enter(entity, in.Record)
	for _, s := range in.Said {
		h.records[entity].last[s.Requester] = said{s.ID, s.Out}
	}
	for _, a := range in.Asked {
		h.asked = append(h.asked, question{a.Request, a.Out, a.Until})
	}
}
