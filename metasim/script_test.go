package metasim

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"metasim/internal/script"
)

// The stories of the machine: a file each in testdata, whose first lines say which rule it shows. After a change:
// go test ./metasim -run Script -rewrite, then read the difference.
func TestScript(t *testing.T) {
	script.Dir(t, "testdata/*.txt", func(t *testing.T) script.Handler { return (&story{}).do })
}

// A story is a Dispatcher driven by a script, with its ledger.
//
// Instants are written 10, 10ns, 5ms, 10ns+2 or inf. Clients go by name. The commands:
//
//	new clients=a,b [until=T] [max-steps=N] [ahead=BYTES] [group=a,b] [outside=a,b]
//	link FROM TO CHANNEL DELAY...      before begin; patterns with *; the last one that matches decides; none: one step.
//	                                   Several delays are those of message 0, 1, ...; the last one goes on. Of these
//	                                   "lost" is a loss, and 3/7 two copies
//	     [fifo] [min=T] [liar]         fifo: never before an earlier one; min: else the least delay; a liar has min=9
//	join NAME [pub=X,Y] [sub=X,Y] [reaction=T]
//	begin
//	send NAME CHANNEL [at=T] [payload=TEXT]                  at: else its clock
//	promise NAME T
//	advance NAME [now=T] [promise=T] [next=T] [ack=N]        now: else its clock; promise: else now; next: else promise;
//	                                                         ack: else everything it was given that is due by now
//	poll-wait NAME [want=T] [messages] and as advance        want: else inf; next: else want
//	leave NAME [now=T] [ack=N] [result=JSON]
//	cut NAME
//	permit T
//	settle                             what follows from all that stands above it
//	echo NAME IN OUT                   from now on, run answers for this client, until it leaves at the end
//	run [quiet]                        settles, lets the echoes answer, again and again; quiet: counts only
//	status                             all that is known of each client
//	blame NAME                         the clients that hold it back, as a chain
//	foreseen                           when each client sends at the earliest, whatever comes from outside and if nothing does, where that
//	                                   has changed; and what is needed of the outside
//	safe                               the safe times E, without end and permit
//	now                                how far the run has come
//	totals, digest                     the ledger
//
// Commands that have no effect print nothing, except settle.
type story struct {
	d      *Dispatcher
	ledger *Ledger
	links  []*scriptLink
	echo   map[ClientID][2]string
}

func (s *story) do(c *script.Command) (string, error) {
	if c.Name == "new" {
		return "", s.create(c)
	}
	if s.d == nil {
		return "", fmt.Errorf("a story begins with new")
	}
	switch c.Name {
	case "link":
		return "", s.link(c)
	case "begin":
		return s.step(&Begin{}), nil
	case "permit":
		until, err := s.instant(c.Word("an instant"))
		return s.step(&Permit{Until: until}), err
	case "settle":
		if text := s.settle(); text != "" {
			return text, nil
		}
		return "(nothing)", nil
	case "run":
		return s.run(c.Flag("quiet"))
	case "status":
		return s.status(), nil
	case "safe":
		return s.safe(), nil
	case "foreseen":
		return s.foreseen(), nil
	case "now":
		return s.d.Now().String(), nil
	case "totals":
		t := s.ledger.Totals()
		return fmt.Sprintf("sent=%d delivered=%d dropped=%d undelivered=%d end=%v",
			t.Sent, t.Delivered, t.Dropped, t.Undelivered, t.End), nil
	case "digest":
		return s.ledger.Digest().String(), nil
	}
	return s.client(c)
}

func (s *story) create(c *script.Command) error {
	config := Config{Clients: c.List("clients"), Delays: s, Outside: c.List("outside")}
	if group := c.List("group"); group != nil {
		config.Groups = [][]string{group}
	}
	var err error
	if v, ok := c.Arg("until"); ok {
		until, e := parseInstant(v)
		config.Until, err = until.Time, e
	}
	for key, set := range map[string]func(int){
		"max-steps": func(n int) { config.MaxSteps = uint32(n) },
		"ahead":     func(n int) { config.Ahead = n },
	} {
		if v, ok := c.Arg(key); ok && err == nil {
			var n int
			n, err = strconv.Atoi(v)
			set(n)
		}
	}
	if err != nil {
		return err
	}
	s.links = nil
	s.d, err = New(config)
	if err == nil {
		s.ledger = NewLedger(s.d.Names())
		s.echo = make(map[ClientID][2]string)
	}
	return err
}

// step steps one event and returns its effects as text.
func (s *story) step(ev Event) string {
	effects := s.d.Step(ev)
	s.ledger.Observe(ev, effects)
	return s.print(effects)
}

func (s *story) settle() string {
	effects := s.d.Settle()
	s.ledger.Observe(nil, effects)
	return s.print(effects)
}

func (s *story) print(effects []Effect) string {
	name := func(id ClientID) string { return s.d.Names()[id] }
	body := func(m Message) string {
		text := fmt.Sprintf("%s#%d sent=%v", m.Channel, m.Seq, m.Sent)
		if len(m.Payload) > 0 && len(m.Payload) < 20 {
			text += fmt.Sprintf(" %q", m.Payload)
		}
		return text
	}
	var lines []string
	for _, e := range effects {
		line := ""
		switch e := e.(type) {
		case *Queue:
			line = fmt.Sprintf("queue %s->%s %s due=%v", name(e.Message.From), name(e.To), body(e.Message), e.Message.Due)
		case *Lose:
			line = fmt.Sprintf("lose %s->%s %s", name(e.Message.From), name(e.To), body(e.Message))
		case *Deliver:
			line = fmt.Sprintf("deliver %d %s->%s %s due=%v",
				e.Number, name(e.Message.From), name(e.To), body(e.Message), e.Message.Due)
		case *Authorize:
			line = fmt.Sprintf("authorize %s until=%v", name(e.To), e.Until)
		case *Evict:
			line = fmt.Sprintf("evict %s: %v", name(e.Client), e.Err)
		case *Reached:
			line = fmt.Sprintf("reached until=%v next=%v", e.Until, e.Next)
		case *Finish:
			line = "finish"
			if e.Err != nil {
				line = fmt.Sprintf("finish: %v", e.Err)
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func (s *story) status() string {
	var lines []string
	for i := range s.d.Names() {
		st := s.d.Status(ClientID(i))
		line := fmt.Sprintf("%s clock=%v promise=%v next=%v granted=%v safe=%v queued=%d given=%d", st.Name, st.Clock,
			st.NoSendBefore, st.NextEvent, st.Granted, st.Safe, st.Queued, st.Given)
		switch {
		case !st.Joined:
			line = st.Name + " absent"
		case st.Gone:
			line = fmt.Sprintf("%s gone clock=%v", st.Name, st.Clock)
		case st.Waiting:
			line += fmt.Sprintf(" waits for %v", st.Want)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func (s *story) blame(id ClientID) string {
	var lines []string
	for _, h := range s.d.Blame(nil, id) {
		name := func(id ClientID) string { return s.d.Names()[id] }
		line := fmt.Sprintf("%s: %v", name(h.From), h.Reason)
		switch h.Reason {
		case Paused:
			line += fmt.Sprintf(" at %v", h.Due)
		case Promised, NextEvent, Pending, Heard:
			line = fmt.Sprintf("%s -%s, %v-> %s: %v, sent=%v due=%v", name(h.From), h.Channel, h.Min, name(h.To), h.Reason, h.Send, h.Due)
		}
		if h.Blocked {
			line += ", waits"
		}
		lines = append(lines, line)
	}
	if lines == nil {
		return "(none)"
	}
	return strings.Join(lines, "\n")
}

func (s *story) safe() string {
	var words []string
	for i, e := range s.d.plainSafeTimes() {
		words = append(words, fmt.Sprintf("%s:%v", s.d.Names()[i], e))
	}
	return strings.Join(words, " ")
}

func (s *story) foreseen() string {
	text := ""
	for _, id := range s.d.Foreseen() {
		whatever, alone := s.d.EarliestSend(id)
		text += fmt.Sprintf("%s: %v, alone %v\n", s.d.Names()[id], whatever, alone)
	}
	return text + fmt.Sprintf("needed of the outside: %v", s.d.OutsideNeed())
}

var instantForm = regexp.MustCompile(`^(-?\d+(?:\.\d+)?)(ns|us|ms|s|)(?:\+(\d+))?$`)

func parseInstant(text string) (Instant, error) {
	if text == "inf" {
		return Infinity, nil
	}
	m := instantForm.FindStringSubmatch(text)
	if m == nil {
		return Start, fmt.Errorf("%q is no instant; write 10, 5ms, 10+2 or inf", text)
	}
	unit := map[string]Time{"": 1, "ns": 1, "us": Microsecond, "ms": Millisecond, "s": Second}[m[2]]
	x, ok := new(big.Rat).SetString(m[1])
	if x.Mul(x, big.NewRat(int64(unit), 1)); !ok || !x.IsInt() || !x.Num().IsInt64() {
		return Start, fmt.Errorf("%q is no whole number of nanoseconds", text)
	}
	i := Instant{Time: Time(x.Num().Int64())}
	if m[3] != "" {
		n, err := strconv.ParseUint(m[3], 10, 32)
		if err != nil {
			return Start, err
		}
		i.Step = uint32(n)
	}
	return i, nil
}

func (s *story) instant(text string, err error) (Instant, error) {
	if err != nil {
		return Start, err
	}
	return parseInstant(text)
}
