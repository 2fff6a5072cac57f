package journal

import (
	"math"

	"pgregory.net/rapid"

	"metasim/metasim"
)

// runs draws entries as a dispatcher could have given them: random in everything but that it queues what was sent and
// delivers what is queued.
func runs() *rapid.Generator[[]Entry] {
	return rapid.Custom(func(t *rapid.T) []Entry {
		w := world{t: t, sends: map[metasim.ClientID]uint64{}, gone: map[metasim.ClientID]bool{}}
		var entries []Entry
		for range rapid.IntRange(0, 30).Draw(t, "entries") {
			e := Entry{Wall: rapid.Int64().Draw(t, "wall"), Event: w.event()}
			if send, ok := e.Event.(*metasim.Send); ok {
				e.Effects = w.transmit(send)
			}
			for range rapid.IntRange(0, 3).Draw(t, "effects") {
				e.Effects = append(e.Effects, w.effect())
			}
			if leave, ok := e.Event.(*metasim.Leave); ok {
				w.gone[leave.Client] = true
			}
			if e.Event != nil || e.Effects != nil {
				entries = append(entries, e)
			}
		}
		return entries
	})
}

// A world is what a random run has come to.
type world struct {
	t      *rapid.T
	sends  map[metasim.ClientID]uint64
	gone   map[metasim.ClientID]bool
	queued []metasim.Queue
}

func (w *world) client() metasim.ClientID {
	return rapid.SampledFrom([]metasim.ClientID{0, 1, 2, 127, 128, math.MaxUint32}).Draw(w.t, "client")
}

func (w *world) instant() metasim.Instant {
	return rapid.OneOf(
		rapid.SampledFrom([]metasim.Instant{metasim.Start, metasim.Infinity, {Step: 1}, {Time: 1}}),
		rapid.Map(rapid.Int64(), func(n int64) metasim.Instant {
			return metasim.Instant{Time: metasim.Time(n), Step: uint32(n)}
		}),
	).Draw(w.t, "instant")
}

func (w *world) text() string { return string(w.bytes()) }

// bytes draws bytes; none are nil, as they come back.
func (w *world) bytes() []byte {
	if b := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(w.t, "bytes"); len(b) > 0 {
		return b
	}
	return nil
}

func (w *world) texts() (all []string) {
	for range rapid.IntRange(0, 3).Draw(w.t, "texts") {
		all = append(all, w.text())
	}
	return all
}

func (w *world) number() uint64 { return rapid.Uint64().Draw(w.t, "number") }

func (w *world) report() metasim.Report {
	return metasim.Report{Now: w.instant(), NoSendBefore: w.instant(), NextEvent: w.instant(), Acked: w.number(),
		Computed: int64(w.number()), CPU: int64(w.number()), CoreWait: int64(w.number())}
}

// event draws an event, or nil for a Settle.
func (w *world) event() metasim.Event {
	switch rapid.IntRange(0, 10).Draw(w.t, "event") {
	case 0:
		return &metasim.Join{Client: w.client(), Publications: w.texts(), Subscriptions: w.texts(),
			Reaction: metasim.Time(w.number())}
	case 1:
		return &metasim.Begin{}
	case 2:
		return &metasim.Promise{Client: w.client(), NoSendBefore: w.instant()}
	case 3:
		return &metasim.Advance{Client: w.client(), Report: w.report()}
	case 4:
		return &metasim.PollWait{Client: w.client(), Report: w.report(), Want: w.instant(),
			Messages: rapid.Bool().Draw(w.t, "messages")}
	case 5:
		return &metasim.Leave{Client: w.client(), Now: w.instant(), Acked: w.number(), Result: w.bytes(),
			Cut: rapid.Bool().Draw(w.t, "cut")}
	case 6:
		return &metasim.Permit{Until: w.instant()}
	case 7, 8:
		return &metasim.Send{Client: w.client(), Channel: w.text(), Sent: w.instant(), Payload: w.bytes()}
	}
	return nil
}

// transmit draws what becomes of a send.
func (w *world) transmit(ev *metasim.Send) (effs []metasim.Effect) {
	m := metasim.Message{From: ev.Client, Seq: w.sends[ev.Client], Channel: ev.Channel, Sent: ev.Sent,
		Payload: ev.Payload}
	w.sends[ev.Client]++
	for range rapid.IntRange(0, 4).Draw(w.t, "copies") {
		to := w.client()
		if rapid.Bool().Draw(w.t, "lost") {
			effs = append(effs, &metasim.Lose{To: to, Message: m})
			continue
		}
		q := &metasim.Queue{To: to, Message: m}
		q.Message.Due = w.instant()
		w.queued = append(w.queued, *q)
		effs = append(effs, q)
	}
	return effs
}

// effect draws any other effect.
func (w *world) effect() metasim.Effect {
	switch rapid.IntRange(0, 7).Draw(w.t, "effect") {
	case 0:
		return &metasim.Authorize{To: w.client(), Until: w.instant()}
	case 1:
		return &metasim.Reached{Until: w.instant(), Next: w.instant()}
	case 2:
		return &metasim.Evict{Client: w.client(), Err: w.violation()}
	case 3:
		steps := &metasim.StepsError{At: w.instant(), MaxSteps: uint32(w.number()), Cycle: w.text()}
		return &metasim.Finish{Err: rapid.SampledFrom([]error{nil, w.violation(), steps}).Draw(w.t, "err")}
	case 4:
		return &metasim.Finish{Err: &recordedError{text: w.text()}}
	}
	for i, q := range w.queued {
		if !w.gone[q.To] {
			w.queued = append(w.queued[:i:i], w.queued[i+1:]...)
			return &metasim.Deliver{To: q.To, Number: w.number(), Message: q.Message}
		}
	}
	return &metasim.Authorize{To: 1}
}

func (w *world) violation() *metasim.Violation {
	return &metasim.Violation{Rule: metasim.Rule(rapid.Byte().Draw(w.t, "rule")), Client: w.text(), Channel: w.text(),
		At: w.instant(), Bound: w.instant()}
}
