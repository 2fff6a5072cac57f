package journal

import (
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"

	"metasim/metasim"
)

// An Own reads what a journal holds of one client: what it said, what it was given, and how far it was authorized. All else it passes over,
// which is several times as fast as to read it.
type Own struct {
	r        *Reader
	id       metasim.ClientID
	messages map[ref]*ownMessage // queued for the client, and not delivered
	send     []byte              // the Send of this entry, not decoded
	sent     *metasim.Send       // the same, decoded
}

// An ownMessage is a message that is queued for the client, perhaps several times.
type ownMessage struct {
	message metasim.Message
	copies  int
}

// OpenOwn opens the first bytes of the journal of a run that still goes on, up to the end of an entry, for what they hold of one client. Close the
// Own to close the file.
func (d Dir) OpenOwn(id metasim.ClientID, size int64) (*Own, error) {
	f, err := d.open(journalFile)
	if err != nil {
		return nil, d.unopened(err)
	}
	o := NewOwn(beginning{io.LimitReader(f, size), f}, id)
	o.r.file = f.Name()
	return o, nil
}

// NewOwn reads a journal, or its beginning up to the end of an entry. If r is an io.Closer, Close closes it.
func NewOwn(r io.Reader, id metasim.ClientID) *Own {
	return &Own{r: NewReader(r, nil), id: id, messages: map[ref]*ownMessage{}}
}

// Offset returns up to which byte the journal was read: the end of a record.
func (o *Own) Offset() int64 { return o.r.offset }

// Close closes the file.
func (o *Own) Close() error { return o.r.Close() }

// Next returns the next record that holds something of the client: its event, if it is one of the client, and the deliveries to and the authorizations
// of the client. It fails as a Reader does.
func (o *Own) Next() (Entry, error) {
	for {
		o.r.load()
		if o.r.err != nil {
			return Entry{}, o.r.err
		}
		var e Entry
		if err := o.record(o.r.body, &e); err != nil {
			o.r.tear(err.Error())
			return Entry{}, o.r.err
		}
		o.r.offset += o.r.size
		o.r.records++
		if e.Event != nil || len(e.Effects) > 0 {
			return e, nil
		}
	}
}

// record adds what a record holds of the client.
func (o *Own) record(body []byte, e *Entry) error {
	if len(body) < 2 {
		return errMalformed
	}
	if kindOf(body) != more {
		o.send, o.sent = nil, nil
	}
	o.r.dec.err = nil
	for rest := body[2:]; len(rest) > 0; {
		num, value, n := field(rest)
		if n == 0 {
			return errMalformed
		}
		rest = rest[n:]
		switch {
		case num == recordEffects:
			o.effect(value, e)
		case num == beginField || num == permitField || num == creditField:
		case num == sendField && clientOf(value) != o.id:
			o.send = value
			if len(body) >= splitAt-frameSize {
				o.sendOf() // effects may follow in another record
			}
		case num >= joinField && num <= leaveField && clientOf(value) == o.id:
			f := fields{num: num, typ: protowire.BytesType, raw: value, err: &o.r.dec.err}
			e.Event = o.r.dec.event(&f)
			o.sent, _ = e.Event.(*metasim.Send)
		}
	}
	return o.r.dec.err
}

// field returns the number of the field at the start of a message, its value if that has a length, and the bytes of both; 0 if there is none.
func field(b []byte) (num protowire.Number, value []byte, n int) {
	num, typ := protowire.Number(b[0]>>3), protowire.Type(b[0]&7)
	v, n := protowire.ConsumeVarint(b[1:])
	switch {
	case n < 0:
		return 0, nil, 0
	case typ == protowire.VarintType:
		return num, nil, 1 + n
	case typ != protowire.BytesType || v > uint64(len(b)-1-n):
		return 0, nil, 0
	}
	return num, b[1+n : 1+n+int(v)], 1 + n + int(v)
}

// clientOf returns the first field of an event or effect, which is a client; one with the number 0 is left out.
func clientOf(message []byte) metasim.ClientID {
	if len(message) < 2 || message[0] != varintTag(1) {
		return 0
	}
	v, _ := protowire.ConsumeVarint(message[1:]) // where it is none, decoding says so
	return metasim.ClientID(v)
}

// sendOf returns the Send of this entry; nil if there is none.
func (o *Own) sendOf() *metasim.Send {
	if o.sent == nil && o.send != nil {
		f := fields{num: sendField, typ: protowire.BytesType, raw: o.send, err: &o.r.dec.err}
		o.sent, _ = o.r.dec.event(&f).(*metasim.Send)
	}
	return o.sent
}

// effect adds an effect that is for the client.
func (o *Own) effect(body []byte, e *Entry) {
	if len(body) == 0 {
		o.r.dec.err = errMalformed
		return
	}
	num, inner, n := field(body)
	switch {
	case n != len(body):
		o.r.dec.err = errMalformed
	case num != queueField && num != deliverField && num != authorizeField || clientOf(inner) != o.id:
	case num == queueField:
		o.queue(inner)
	case num == deliverField:
		o.deliver(inner, e)
	default:
		a := new(metasim.Authorize)
		o.r.dec.fill(inner, "an Authorize", &a.To, &a.Until)
		e.Effects = append(e.Effects, a)
	}
}

func (o *Own) queue(inner []byte) {
	var q metasim.Queue
	m := &q.Message
	o.r.dec.fill(inner, "a Queue", &q.To, &m.From, &m.Seq, &m.Due)
	send := o.sendOf()
	if send == nil || send.Client != m.From {
		o.r.dec.err = fmt.Errorf("message %d of client %d is queued, and was not sent; metasim fsck says how much of the journal is good", m.Seq, m.From)
		return
	}
	r := ref{m.From, m.Seq}
	kept := o.messages[r]
	if kept == nil {
		kept = &ownMessage{message: metasim.Message{From: m.From, Seq: m.Seq, Channel: send.Channel, Sent: send.Sent, Payload: send.Payload}}
		o.messages[r] = kept
	}
	kept.copies++
}

func (o *Own) deliver(inner []byte, e *Entry) {
	d := new(metasim.Deliver)
	m := &d.Message
	o.r.dec.fill(inner, "a Deliver", &d.To, &m.From, &m.Seq, &m.Due, &d.Number)
	r := ref{m.From, m.Seq}
	kept := o.messages[r]
	if kept == nil {
		o.r.dec.err = errNotQueued
		return
	}
	due := m.Due
	*m = kept.message
	m.Due = due
	if kept.copies--; kept.copies == 0 {
		delete(o.messages, r)
	}
	e.Effects = append(e.Effects, d)
}

var errNotQueued = errors.New("a message is delivered that was not queued")
