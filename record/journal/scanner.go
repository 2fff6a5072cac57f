package journal

import (
	"errors"

	"google.golang.org/protobuf/encoding/protowire"

	"metasim/metasim"
)

// A Scanner looks through a part of a journal, from any record on: for who wants to know what was sent and delivered
// there, and not all of the rest. It keeps nothing, so of a delivery it knows only which send it was of.
type Scanner struct {
	r    *Reader
	news News
}

// News is what one record tells. It is valid until the next one is read.
type News struct {
	Offset     int64         // of the record
	Event      metasim.Event // a Send or a Leave, without their clients' lists; nil for all else
	Deliveries []Delivery
}

// A Delivery is a Deliver without the rest of its message.
type Delivery struct {
	To, From metasim.ClientID
	Seq      uint64
	Due      metasim.Instant
	Number   uint64 // counts the deliveries to To, from 1
}

// Scan looks through the run's journal from an offset on at which a record begins, as an Index has them. Close the scanner to close
// the file.
func (d Dir) Scan(offset int64) (*Scanner, error) {
	r, err := d.OpenJournal(nil)
	if err != nil {
		return nil, err
	}
	if r.header(); r.err != nil {
		return nil, errors.Join(r.err, r.Close())
	}
	if err := r.seek(offset); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return &Scanner{r: r}, nil
}

// Next returns what the next record tells. It ends as a Reader does.
func (s *Scanner) Next() (*News, error) {
	s.r.load()
	if s.r.err != nil {
		return nil, s.r.err
	}
	s.news = News{Offset: s.r.offset, Deliveries: s.news.Deliveries[:0]}
	if err := s.look(s.r.body); err != nil {
		s.r.tear(err.Error())
		return nil, s.r.err
	}
	s.r.offset += s.r.size
	s.r.records++
	return &s.news, nil
}

// Close closes the file.
func (s *Scanner) Close() error { return s.r.Close() }

// look reads of a record what is news.
func (s *Scanner) look(body []byte) error {
	d := &s.r.dec
	d.err = nil
	for f := walk(body, &d.err); f.next(); {
		switch f.num {
		case sendField:
			s.news.Event = d.send(f.bytes())
		case leaveField:
			s.news.Event = d.leave(f.bytes())
		case recordEffects:
			s.effect(f.bytes())
		}
	}
	return d.err
}

// effect notes an effect, if it is a Deliver.
func (s *Scanner) effect(body []byte) {
	d := &s.r.dec
	if len(body) == 0 || body[0] != byte(protowire.EncodeTag(deliverField, protowire.BytesType)) {
		return
	}
	for f := walk(body, &d.err); f.next(); {
		var v Delivery
		for g := walk(f.bytes(), &d.err); g.next(); {
			switch g.num {
			case 1:
				v.To = g.client()
			case 2:
				v.From = g.client()
			case 3:
				v.Seq = g.uint64()
			case 4:
				v.Due = g.instant()
			case 5:
				v.Number = g.uint64()
			}
		}
		s.news.Deliveries = append(s.news.Deliveries, v)
	}
}
