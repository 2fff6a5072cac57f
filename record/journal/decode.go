package journal

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"metasim/metasim"
)

// A decoder makes nouns of records.
type decoder struct {
	book  book
	names map[string]string // channels, so that each is allocated once
	err   error             // of the record being decoded
}

// maxNames bounds the names that are kept.
const maxNames = 1 << 12

func newDecoder() decoder { return decoder{book: newBook(), names: map[string]string{}} }

// kindOf returns the kind of a record: it is always the first field. It is 0 for what is none.
func kindOf(body []byte) byte {
	if len(body) < 2 || body[0] != byte(protowire.EncodeTag(recordKind, protowire.VarintType)) {
		return 0
	}
	return body[1]
}

// record adds a record to an entry. Messages are put together from the sends before.
func (d *decoder) record(body []byte, e *Entry) error {
	kind := kindOf(body)
	if kind != step && kind != settle && kind != more {
		return fmt.Errorf("a record of kind %d, which is not known here", kind)
	}
	d.err = nil
	for f := walk(body[2:], &d.err); f.next(); {
		switch {
		case f.num == recordWall:
			if wall := int64(f.uint64()); kind != more {
				e.Wall = wall
			}
		case f.num == recordEffects:
			e.Effects = append(e.Effects, d.effect(f.bytes()))
		case joinField <= f.num && f.num <= permitField:
			if kind != step || e.Event != nil {
				return fmt.Errorf("a record of kind %d has an event that it cannot have", kind)
			}
			e.Event = d.event(&f)
		default:
			f.unknown("a Record")
		}
	}
	if d.err == nil && kind == step && e.Event == nil {
		return fmt.Errorf("a record of kind %d without an event", kind)
	}
	return d.err
}

// name returns a channel's name.
func (d *decoder) name(b []byte) string {
	if s, ok := d.names[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(d.names) < maxNames {
		d.names[s] = s
	}
	return s
}

// event decodes the field of a Record that an event is.
func (d *decoder) event(f *fields) metasim.Event {
	body := f.bytes()
	switch f.num {
	case joinField:
		return d.join(body)
	case beginField:
		for g := walk(body, &d.err); g.next(); {
			g.unknown("a Begin")
		}
		return &metasim.Begin{}
	case sendField:
		ev := d.send(body)
		d.book.send(ev)
		return ev
	case promiseField:
		return d.promise(body)
	case advanceField:
		return d.advance(body)
	case pollWaitField:
		return d.pollWait(body)
	case leaveField:
		return d.leave(body)
	default:
		return d.permit(body)
	}
}

func (d *decoder) join(body []byte) (ev *metasim.Join) {
	ev = new(metasim.Join)
	for f := walk(body, &d.err); f.next(); {
		switch f.num {
		case 1:
			ev.Client = f.client()
		case 2:
			ev.Publications = append(ev.Publications, f.text())
		case 3:
			ev.Subscriptions = append(ev.Subscriptions, f.text())
		case 4:
			ev.Reaction = f.time()
		default:
			f.unknown("a Join")
		}
	}
	return ev
}

func (d *decoder) send(body []byte) (ev *metasim.Send) {
	ev = new(metasim.Send)
	for f := walk(body, &d.err); f.next(); {
		switch f.num {
		case 1:
			ev.Client = f.client()
		case 2:
			ev.Channel = d.name(f.bytes())
		case 3:
			ev.Sent = f.instant()
		case 4:
			ev.Payload = f.copied()
		default:
			f.unknown("a Send")
		}
	}
	return ev
}

func (d *decoder) promise(body []byte) (ev *metasim.Promise) {
	ev = new(metasim.Promise)
	for f := walk(body, &d.err); f.next(); {
		switch f.num {
		case 1:
			ev.Client = f.client()
		case 2:
			ev.NoSendBefore = f.instant()
		default:
			f.unknown("a Promise")
		}
	}
	return ev
}

// report takes a field of a report. It returns false if the field is none.
func report(f *fields, client *metasim.ClientID, r *metasim.Report) bool {
	switch f.num {
	case 1:
		*client = f.client()
	case 2:
		r.Now = f.instant()
	case 3:
		r.NoSendBefore = f.instant()
	case 4:
		r.NextEvent = f.instant()
	case 5:
		r.Acked = f.uint64()
	default:
		return false
	}
	return true
}

func (d *decoder) advance(body []byte) (ev *metasim.Advance) {
	ev = new(metasim.Advance)
	for f := walk(body, &d.err); f.next(); {
		switch {
		case report(&f, &ev.Client, &ev.Report):
		case f.num == 6:
			ev.Computed = f.int64()
		case f.num == 7:
			ev.CPU = f.int64()
		default:
			f.unknown("an Advance")
		}
	}
	return ev
}

func (d *decoder) pollWait(body []byte) (ev *metasim.PollWait) {
	ev = new(metasim.PollWait)
	for f := walk(body, &d.err); f.next(); {
		switch {
		case report(&f, &ev.Client, &ev.Report):
		case f.num == 6:
			ev.Want = f.instant()
		case f.num == 7:
			ev.Messages = f.bool()
		case f.num == 8:
			ev.Computed = f.int64()
		case f.num == 9:
			ev.CPU = f.int64()
		default:
			f.unknown("a PollWait")
		}
	}
	return ev
}

func (d *decoder) leave(body []byte) (ev *metasim.Leave) {
	ev = new(metasim.Leave)
	for f := walk(body, &d.err); f.next(); {
		switch f.num {
		case 1:
			ev.Client = f.client()
		case 2:
			ev.Now = f.instant()
		case 3:
			ev.Acked = f.uint64()
		case 4:
			ev.Result = f.copied()
		case 5:
			ev.Cut = f.bool()
		default:
			f.unknown("a Leave")
		}
	}
	return ev
}

func (d *decoder) permit(body []byte) (ev *metasim.Permit) {
	ev = new(metasim.Permit)
	for f := walk(body, &d.err); f.next(); {
		switch f.num {
		case 1:
			ev.Until = f.instant()
		default:
			f.unknown("a Permit")
		}
	}
	return ev
}
