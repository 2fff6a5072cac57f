package journal

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"google.golang.org/protobuf/proto"

	"metasim/metasim"
	"metasim/record/journal/journalpb"
)

// round is what one message of 64 bytes costs a journal: a send, a poll, and the delivery.
func round() []Entry {
	m := metasim.Message{From: 1, Channel: "PING", Sent: metasim.At(1 << 40), Due: metasim.At(1<<40 + 5_000_000),
		Payload: make([]byte, 64)}
	poll := metasim.Report{Now: m.Sent, NoSendBefore: m.Sent, NextEvent: metasim.Infinity, Acked: 1 << 20}
	return []Entry{
		{1 << 40, &metasim.Send{Client: 1, Channel: "PING", Sent: m.Sent, Payload: m.Payload},
			[]metasim.Effect{&metasim.Queue{To: 0, Message: m}}},
		{1 << 40, &metasim.PollWait{Client: 1, Report: poll, Want: metasim.Infinity, Messages: true}, nil},
		{1 << 40, nil, []metasim.Effect{
			&metasim.Deliver{To: 0, Number: 1 << 20, Message: m},
			&metasim.Authorize{To: 0, Until: m.Due},
		}},
	}
}

func BenchmarkObserve(b *testing.B) {
	entries := round()
	w := NewWriter(io.Discard)
	room := make(chan struct{}, 1)
	w.Notify(func() { room <- struct{}{} })
	b.SetBytes(int64(len(write(b, entries...)) - headerSize))
	b.ReportAllocs()
	for b.Loop() {
		for _, e := range entries {
			if err := w.Observe(e.Wall, e.Event, e.Effects); err != nil {
				b.Fatal(err)
			}
		}
		if full, _ := w.Full(); full {
			<-room // as the server does
		}
	}
}

func BenchmarkNext(b *testing.B) {
	const rounds = 1000
	var buf bytes.Buffer
	w := NewWriter(&buf)
	for seq := range uint64(rounds) {
		for _, e := range round() {
			for i, eff := range e.Effects {
				switch eff := eff.(type) {
				case *metasim.Queue:
					eff.Message.Seq = seq
					e.Effects[i] = eff
				case *metasim.Deliver:
					eff.Message.Seq = seq
					e.Effects[i] = eff
				}
			}
			if err := w.Observe(e.Wall, e.Event, e.Effects); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(buf.Len() / rounds))
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; n += rounds {
		r := NewReader(bytes.NewReader(buf.Bytes()), nil)
		for {
			if _, err := r.Next(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// TestAppendingAllocatesNothing: a journal must not slow a run down by garbage.
func TestAppendingAllocatesNothing(t *testing.T) {
	entries := round()
	w := NewWriter(io.Discard)
	n := testing.AllocsPerRun(10_000, func() {
		for _, e := range entries {
			if err := w.Observe(e.Wall, e.Event, e.Effects); err != nil {
				t.Fatal(err)
			}
		}
	})
	if n != 0 {
		t.Errorf("a round allocates %v times", n)
	}
}

// BenchmarkGenerated is what the generated code would cost for the send of a round alone: the reason for encode.go.
func BenchmarkGenerated(b *testing.B) {
	e := round()[0]
	send, queue := e.Event.(*metasim.Send), e.Effects[0].(*metasim.Queue)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		record := &journalpb.Record{
			Kind: journalpb.Kind_KIND_STEP, Wall: e.Wall,
			Event: &journalpb.Record_Send{Send: &journalpb.Send{
				Client: uint32(send.Client), Channel: []byte(send.Channel), Payload: send.Payload,
				Sent: &journalpb.Instant{Time: int64(send.Sent.Time)},
			}},
			Effects: []*journalpb.Effect{{Effect: &journalpb.Effect_Queue{Queue: &journalpb.Queue{
				From: uint32(queue.Message.From), Due: &journalpb.Instant{Time: int64(queue.Message.Due.Time)},
			}}}},
		}
		var err error
		if buf, err = (proto.MarshalOptions{}).MarshalAppend(buf[:0], record); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAppended is the same by hand.
func BenchmarkAppended(b *testing.B) {
	e := round()[0]
	w := NewWriter(io.Discard)
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Observe(e.Wall, e.Event, e.Effects); err != nil {
			b.Fatal(err)
		}
	}
}
