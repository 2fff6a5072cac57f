package replay

import (
	"fmt"
	"time"

	"metasim/metasim"
	"metasim/record/journal"
)

// words puts events and effects into words.
type words struct{ names []string }

func (w words) name(id metasim.ClientID) string {
	if int(id) < len(w.names) {
		return fmt.Sprintf("%q", w.names[id])
	}
	return fmt.Sprintf("client %d", id)
}

// entry names a place in a journal: the effect i of an entry, counted from 0; entries are counted from 1.
func (w words) entry(number uint64, e *journal.Entry, i int) string {
	return fmt.Sprintf("effect %d of entry %d (%v after the run began, %s)", i+1, number, time.Duration(e.Wall), w.event(e.Event))
}

// event says what an event is.
func (w words) event(ev metasim.Event) string {
	switch ev := ev.(type) {
	case nil:
		return "a settling"
	case *metasim.Join:
		return w.name(ev.Client) + " joins"
	case *metasim.Begin:
		return "the run begins"
	case *metasim.Send:
		return fmt.Sprintf("%s sends %d bytes on %q at %v", w.name(ev.Client), len(ev.Payload), ev.Channel, ev.Sent)
	case *metasim.Promise:
		return fmt.Sprintf("%s promises to send nothing before %v", w.name(ev.Client), ev.NoSendBefore)
	case *metasim.Advance:
		return fmt.Sprintf("%s reports at %v", w.name(ev.Client), ev.Now)
	case *metasim.PollWait:
		return fmt.Sprintf("%s waits at %v for %v", w.name(ev.Client), ev.Now, ev.Want)
	case *metasim.Leave:
		if ev.Cut {
			return w.name(ev.Client) + " is cut off"
		}
		return fmt.Sprintf("%s leaves at %v", w.name(ev.Client), ev.Now)
	case *metasim.Permit:
		return fmt.Sprintf("the run may go on to %v", ev.Until)
	case *metasim.Credit:
		return fmt.Sprintf("the run around %s may take what it sends until %v", w.name(ev.Client), ev.Until)
	}
	return fmt.Sprintf("a %T", ev)
}

// effect says what effect i is, if there are so many.
func (w words) effect(effects []metasim.Effect, i int) string {
	if i >= len(effects) {
		return "nothing more follows"
	}
	switch e := effects[i].(type) {
	case *metasim.Queue:
		return fmt.Sprintf("%s is queued for %s, due %v", w.message(&e.Message), w.name(e.To), e.Message.Due)
	case *metasim.Lose:
		return fmt.Sprintf("%s is lost on the way to %s", w.message(&e.Message), w.name(e.To))
	case *metasim.Deliver:
		return fmt.Sprintf("%s is delivered to %s as number %d, due %v", w.message(&e.Message), w.name(e.To), e.Number, e.Message.Due)
	case *metasim.Authorize:
		return fmt.Sprintf("%s may act before %v", w.name(e.To), e.Until)
	case *metasim.Evict:
		return fmt.Sprintf("%s is evicted: %v", w.name(e.Client), e.Err)
	case *metasim.Reached:
		return fmt.Sprintf("%v is reached, and something is left at %v", e.Until, e.Next)
	case *metasim.Finish:
		if e.Err == nil {
			return "the run ends well"
		}
		return fmt.Sprintf("the run ends: %v", e.Err)
	}
	return fmt.Sprintf("a %T", effects[i])
}

func (w words) message(m *metasim.Message) string {
	return fmt.Sprintf("message %d of %s on %q, sent at %v,", m.Seq, w.name(m.From), m.Channel, m.Sent)
}
