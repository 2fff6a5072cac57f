package journal

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

// events and effects are one of each type that metasim has; TestEveryTypeIsJournaled holds the lists to metasim.
func events() []metasim.Event {
	return []metasim.Event{
		&metasim.Join{}, &metasim.Begin{}, &metasim.Send{}, &metasim.Promise{}, &metasim.Advance{}, &metasim.PollWait{},
		&metasim.Leave{}, &metasim.Permit{}, &metasim.Credit{},
	}
}

func effects() []metasim.Effect {
	return []metasim.Effect{
		&metasim.Queue{}, &metasim.Lose{}, &metasim.Deliver{}, &metasim.Authorize{}, &metasim.Evict{}, &metasim.Reached{},
		&metasim.Finish{},
	}
}

// filled returns a copy of a value in which no field is zero, however deep: a field that the journal forgets differs.
func filled[T any](v T) T {
	p := reflect.New(reflect.TypeOf(v))
	n := uint64(200) // each number is another one, and none fits a byte of a varint
	fill(p.Elem(), &n)
	return p.Elem().Interface().(T)
}

func fill(v reflect.Value, n *uint64) {
	*n++
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int64:
		v.SetInt(-int64(*n))
	case reflect.Uint8:
		v.SetUint(*n % 100)
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(*n)
	case reflect.String:
		v.SetString("\xff" + string(rune(*n))) // no valid UTF-8
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 3, 3))
		for i := range v.Len() {
			fill(v.Index(i), n)
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Interface:
		v.Set(reflect.ValueOf(&metasim.StepsError{At: metasim.At(5), MaxSteps: 7, Cycle: "a -X-> a"}))
	case reflect.Struct:
		for _, field := range v.Fields() {
			if field.CanSet() { // what a package keeps to itself is nothing that happened
				fill(field, n)
			}
		}
	default:
		panic("the test cannot fill a " + v.Type().String() + ": teach fill in journal_test.go")
	}
}

// write writes a journal of entries.
func write(t require.TestingT, entries ...Entry) []byte {
	var buf bytes.Buffer
	w := NewWriter(&buf)
	for _, e := range entries {
		require.NoError(t, w.Observe(e.Wall, e.Event, e.Effects))
	}
	require.NoError(t, w.Close())
	return buf.Bytes()
}

// read reads a journal until it ends; the error is nil if that is clean.
func read(journal []byte) (entries []Entry, err error) {
	r := NewReader(bytes.NewReader(journal), nil)
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return entries, nil
		}
		if err != nil {
			return entries, err
		}
		entries = append(entries, e)
	}
}

// story is a small run that has every event and every effect, in an order that makes sense.
func story() []Entry {
	payload := []byte("payload")
	ping := metasim.Message{From: 1, Seq: 0, Channel: "PING", Sent: metasim.Start, Payload: payload}
	pong := metasim.Message{From: 0, Seq: 0, Channel: "PONG", Sent: metasim.Instant{Time: 5_000_000, Step: 1}}
	due := func(m metasim.Message, at metasim.Instant) metasim.Message { m.Due = at; return m }
	late := metasim.At(50_000_000)
	broken := &metasim.Violation{Rule: metasim.SendBeforePromise, Client: "pinger", Channel: "PING",
		At: metasim.At(3), Bound: metasim.At(4)}
	return []Entry{
		{1000, &metasim.Join{Client: 1, Publications: []string{"PING"}, Subscriptions: []string{"PONG", ".*"},
			Reaction: 7}, nil},
		{1500, &metasim.Join{Client: 0, Publications: []string{"PONG"}, Subscriptions: []string{"PING"}}, nil},
		{2000, &metasim.Begin{}, nil},
		{2100, &metasim.Permit{Until: late}, nil},
		{3000, &metasim.Send{Client: 1, Channel: "PING", Payload: payload}, []metasim.Effect{
			&metasim.Queue{To: 0, Message: due(ping, metasim.At(5_000_000))},
			&metasim.Queue{To: 0, Message: due(ping, metasim.At(6_000_000))},
			&metasim.Lose{To: 1, Message: ping},
		}},
		{3500, &metasim.PollWait{Client: 1, Report: metasim.Report{NextEvent: metasim.Infinity, Computed: 1200, CPU: 900},
			Want: metasim.Infinity, Messages: true}, nil},
		{4000, nil, []metasim.Effect{
			&metasim.Deliver{To: 0, Number: 1, Message: due(ping, metasim.At(5_000_000))},
			&metasim.Authorize{To: 0, Until: metasim.At(5_500_000)},
		}},
		{5000, &metasim.Advance{Client: 0, Report: metasim.Report{Now: pong.Sent, NoSendBefore: pong.Sent,
			NextEvent: late, Acked: 1, Computed: 700, CPU: 600, CoreWait: 50}}, nil},
		{5100, &metasim.Send{Client: 0, Channel: "PONG", Sent: pong.Sent}, []metasim.Effect{
			&metasim.Queue{To: 1, Message: due(pong, late)},
		}},
		{5200, &metasim.Promise{Client: 0, NoSendBefore: metasim.At(9_000_000)}, nil},
		{6000, nil, []metasim.Effect{
			&metasim.Deliver{To: 0, Number: 2, Message: due(ping, metasim.At(6_000_000))},
			&metasim.Reached{Until: late, Next: metasim.Infinity},
		}},
		{7000, &metasim.Leave{Client: 1, Now: metasim.At(7_000_000), Result: []byte(`{"rounds":1}`), Cut: true}, nil},
		{8000, &metasim.Send{Client: 1, Channel: "PING", Sent: metasim.At(3)}, []metasim.Effect{
			&metasim.Evict{Client: 1, Err: broken},
			&metasim.Finish{Err: broken},
		}},
	}
}

func TestAStoryIsReadAsItWasWritten(t *testing.T) {
	entries, err := read(write(t, story()...))
	require.NoError(t, err)
	require.Equal(t, story(), entries)
}

func TestEventsAndEffectsApartMakeOneEntry(t *testing.T) {
	var buf bytes.Buffer
	w := NewWriter(&buf)
	for _, e := range story() {
		if e.Event == nil {
			require.NoError(t, w.Observe(e.Wall, nil, e.Effects))
			continue
		}
		w.write(step, e.Wall, e.Event, nil)
		for _, eff := range e.Effects {
			w.write(more, e.Wall+1, nil, []metasim.Effect{eff})
		}
	}
	require.NoError(t, w.Close())
	entries, err := read(buf.Bytes())
	require.NoError(t, err)
	require.Equal(t, story(), entries)
}

// A Settle without effects changed nothing, so a replay may leave it out.
func TestASettleWithoutEffectsIsLeftOut(t *testing.T) {
	assert.Equal(t, write(t), write(t, Entry{Wall: 5}))
}

func TestManyEffectsAreSplitAndReadAsOne(t *testing.T) {
	payload := bytes.Repeat([]byte{1}, 3<<20)
	m := metasim.Message{Channel: "BIG", Payload: payload}
	e := Entry{Event: &metasim.Send{Channel: "BIG", Payload: payload}}
	for i := range 200_000 {
		e.Effects = append(e.Effects, &metasim.Queue{To: metasim.ClientID(i), Message: m})
	}
	b := write(t, e, Entry{Wall: 9, Event: &metasim.Begin{}})
	entries, err := read(b)
	require.NoError(t, err)
	require.Len(t, entries, 2)
	require.Len(t, entries[0].Effects, len(e.Effects))
	for i, eff := range entries[0].Effects {
		q := eff.(*metasim.Queue)
		require.Equal(t, metasim.ClientID(i), q.To)
		require.Same(t, &entries[0].Event.(*metasim.Send).Payload[0], &q.Message.Payload[0], "one payload, held once")
	}
	assert.Equal(t, 4, records(t, b), "the send, twice more effects, the begin")
}

// records counts the records of a journal.
func records(t *testing.T, journal []byte) int {
	r := NewReader(bytes.NewReader(journal), nil)
	for {
		if _, err := r.Next(); err != nil {
			require.ErrorIs(t, err, io.EOF)
			return int(r.records)
		}
	}
}

func TestErrorsComeBackWithTextAndType(t *testing.T) {
	violation := &metasim.Violation{Rule: metasim.PastGrant, Client: "a", At: metasim.At(2), Bound: metasim.At(1)}
	steps := &metasim.StepsError{At: metasim.At(3), MaxSteps: 1000, Cycle: "a -X-> a"}
	for _, err := range []error{
		nil, violation, steps, errors.New("the client died"), errors.New(""),
		errors.Join(errors.New("first"), violation), errors.Join(steps, errors.New("last")),
	} {
		entries, e := read(write(t, Entry{Effects: []metasim.Effect{&metasim.Finish{Err: err}}}))
		require.NoError(t, e)
		got := entries[0].Effects[0].(*metasim.Finish).Err
		if err == nil {
			require.NoError(t, got)
			continue
		}
		require.EqualError(t, got, err.Error())
		var v *metasim.Violation
		assert.Equal(t, errors.As(err, &v), errors.As(got, &v))
		assert.Equal(t, errors.Is(err, metasim.PastGrant), errors.Is(got, metasim.PastGrant))
		var s *metasim.StepsError
		if errors.As(err, &s) {
			var back *metasim.StepsError
			require.ErrorAs(t, got, &back)
			assert.Equal(t, s, back)
		}
	}
	entries, err := read(write(t, Entry{Effects: []metasim.Effect{&metasim.Finish{Err: violation}}}))
	require.NoError(t, err)
	assert.Equal(t, violation, entries[0].Effects[0].(*metasim.Finish).Err, "unwrapped, where nothing wraps it")
}

// What the reader holds is what the dispatcher holds: a payload goes with its last copy, or with its recipient.
func TestTheReaderForgetsWhatIsOver(t *testing.T) {
	var buf bytes.Buffer
	w := NewWriter(&buf)
	for i := range 100 {
		m := metasim.Message{From: 1, Seq: uint64(i), Channel: "X", Payload: []byte("x")}
		ev := &metasim.Send{Client: 1, Channel: "X", Payload: m.Payload}
		effs := []metasim.Effect{&metasim.Lose{To: 0, Message: m}, &metasim.Queue{To: 2, Message: m}}
		switch i % 3 {
		case 1:
			effs = append(effs, &metasim.Queue{To: 0, Message: m})
		case 2:
			effs = nil
		}
		require.NoError(t, w.Observe(0, ev, effs))
		if i == 49 {
			require.NoError(t, w.Observe(0, &metasim.Leave{Client: 2}, nil))
		}
		if i%3 == 1 {
			m.Due = metasim.At(5)
			gone := []metasim.Effect{&metasim.Deliver{To: 0, Number: 1, Message: m}}
			if i%2 == 0 {
				m.Due = metasim.Start
				gone = []metasim.Effect{&metasim.Lose{To: 0, Message: m}}
			}
			require.NoError(t, w.Observe(0, nil, gone))
		}
	}
	require.NoError(t, w.Close())
	r := NewReader(&buf, nil)
	most := 0
	for {
		if _, err := r.Next(); err != nil {
			require.ErrorIs(t, err, io.EOF)
			break
		}
		kept := 0
		for _, p := range r.dec.sent.pages {
			kept += p.used
		}
		most = max(most, kept)
	}
	assert.InDelta(t, 34, most, 2, "while client 2 is there, all messages to it are kept")
	assert.Empty(t, r.dec.sent.pages)
	assert.Zero(t, r.dec.sent.queued[0]+r.dec.sent.total)
}

// What a link drops when a message is sent is not the copy that it queued for the same client.
func TestALossIsNotTheCopyThatWasQueued(t *testing.T) {
	m := metasim.Message{From: 1, Channel: "X"}
	entries := []Entry{
		{Event: &metasim.Send{Client: 1, Channel: "X"}, Effects: []metasim.Effect{
			&metasim.Queue{To: 2, Message: m}, &metasim.Lose{To: 2, Message: m},
		}},
		{Effects: []metasim.Effect{&metasim.Deliver{To: 2, Number: 1, Message: m}}},
	}
	got, err := read(write(t, entries...))
	require.NoError(t, err)
	assert.Equal(t, entries, got)
}

func TestEffectsOfUnknownMessagesAreRefused(t *testing.T) {
	m := metasim.Message{From: 1, Channel: "X"}
	send := Entry{Event: &metasim.Send{Client: 1, Channel: "X"}}
	queue := Entry{Event: send.Event, Effects: []metasim.Effect{&metasim.Queue{To: 2, Message: m}}}
	deliver := Entry{Effects: []metasim.Effect{&metasim.Deliver{To: 2, Message: m}}}
	for name, entries := range map[string][]Entry{
		"never sent":           {deliver},
		"never queued":         {send, deliver},
		"delivered twice":      {queue, deliver, deliver},
		"queued for another":   {queue, {Effects: []metasim.Effect{&metasim.Deliver{To: 3, Message: m}}}},
		"delivered after left": {queue, {Event: &metasim.Leave{Client: 2}}, deliver},
		"lost, never sent":     {{Effects: []metasim.Effect{&metasim.Lose{To: 2, Message: m}}}},
		"queued, never sent":   {{Effects: queue.Effects}},
	} {
		got, err := read(write(t, entries...))
		var torn *TornError
		require.ErrorAs(t, err, &torn, name)
		assert.Contains(t, torn.Reason, "message 0 of client 1", name)
		assert.Len(t, got, len(entries)-1, name)
	}
}

// failing fails after some bytes, and counts how often it is closed.
type failing struct{ room, closed int }

func (f *failing) Write(b []byte) (int, error) {
	if f.room -= len(b); f.room < 0 {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}

func (f *failing) Close() error { f.closed++; return nil }

func TestErrorsOfTheWriterStick(t *testing.T) {
	f := &failing{room: 400_000}
	w := NewWriter(f)
	failed := make(chan struct{})
	w.Notify(func() { close(failed) })
	big := &metasim.Send{Payload: make([]byte, 300_000)}
	require.NoError(t, w.Observe(0, big, nil))
	if err := w.Observe(0, big, nil); err != nil { // the writer's goroutine may fail at once
		require.ErrorIs(t, err, io.ErrShortWrite)
	}
	<-failed
	_, err := w.Full()
	require.ErrorIs(t, err, io.ErrShortWrite)
	require.ErrorIs(t, w.Observe(0, &metasim.Begin{}, nil), io.ErrShortWrite)
	require.ErrorIs(t, w.flush(), io.ErrShortWrite)
	require.ErrorIs(t, w.Close(), io.ErrShortWrite)
	require.NoError(t, w.Close(), "a second Close does nothing")
	assert.Equal(t, 1, f.closed)
	assert.ErrorContains(t, w.Observe(0, &metasim.Begin{}, nil), "write before Close")
	assert.ErrorContains(t, NewWriter(f).Observe(0, &metasim.Send{Payload: make([]byte, maxRecord)}, nil), "send less")
}

func TestALargeBufferIsGivenBack(t *testing.T) {
	w := NewWriter(io.Discard)
	require.NoError(t, w.Observe(0, &metasim.Send{Payload: make([]byte, 4<<20)}, nil))
	assert.LessOrEqual(t, cap(w.buf), keepAt)
}

// The journal is independent of what the caller does with its slices afterwards.
func TestNothingIsKeptOfTheCallersSlices(t *testing.T) {
	var buf bytes.Buffer
	w := NewWriter(&buf)
	payload := []byte("payload")
	require.NoError(t, w.Observe(0, &metasim.Send{Payload: payload}, nil))
	clear(payload)
	require.NoError(t, w.Close())
	log := slices.Clone(buf.Bytes())
	entries, err := read(log)
	require.NoError(t, err)
	clear(log)
	assert.Equal(t, "payload", string(entries[0].Event.(*metasim.Send).Payload))
}
