package seal

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"metasim/metasim"
)

// boundHeader is the member of the JWE's protected header that says which message this is. Its values are text: numbers of 64 bits
// lose digits in many readers of JSON.
const boundHeader jose.HeaderKey = "bound"

// The members of the bound.
const (
	boundInstance  = "in"
	boundSender    = "from"
	boundRecipient = "to"
	boundChannel   = "ch"
	boundSequence  = "seq"
	boundInstant   = "at" // "<time in ns>.<step>"
	boundMembers   = 6
	boundNumber    = "n" // of payloads; there only if there are several: the sequence number is that of the first then
)

func (l Link) bound(sequence uint64, at metasim.Instant, number int) map[string]string {
	all := map[string]string{
		boundInstance: l.Instance, boundSender: l.Sender, boundRecipient: l.Recipient, boundChannel: l.Channel,
		boundSequence: strconv.FormatUint(sequence, 10),
		boundInstant:  fmt.Sprintf("%d.%d", int64(at.Time), at.Step),
	}
	if number > 1 {
		all[boundNumber] = strconv.Itoa(number)
	}
	return all
}

// A stamp is what the bound of a message says beside its link.
type stamp struct {
	at     metasim.Instant
	first  uint64 // sequence number
	number int    // of payloads
}

// last is the sequence number of the last payload.
func (m stamp) last() uint64 { return m.first + uint64(m.number) - 1 }

// readBound reads which message this is, and holds it against the link.
func (l Link) readBound(header jose.Header) (m stamp, err error) {
	all, ok := header.ExtraHeaders[boundHeader].(map[string]any)
	members := boundMembers
	if _, several := all[boundNumber]; several {
		members++
	}
	if !ok || len(all) != members {
		return m, l.refuse(Malformed, "its JWE has no header %q with %d members, and %s where it has several payloads", boundHeader, boundMembers, boundNumber)
	}
	text := func(name string) string {
		s, _ := all[name].(string) // what is no text is as good as missing
		return s
	}
	for _, c := range []struct {
		name, want string
		why        Reason
	}{
		{boundInstance, l.Instance, WrongInstance}, {boundSender, l.Sender, WrongSender},
		{boundRecipient, l.Recipient, WrongRecipient}, {boundChannel, l.Channel, WrongChannel},
	} {
		if got := text(c.name); got != c.want {
			return m, l.refuse(c.why, "it was sealed for %q as %q, not for %q", got, c.name, c.want)
		}
	}
	time, step, ok := strings.Cut(text(boundInstant), ".")
	ns, err := strconv.ParseInt(time, 10, 64)
	n, e := strconv.ParseUint(step, 10, 32)
	if !ok || err != nil || e != nil || ns < 0 {
		return m, l.refuse(Malformed, "its instant is %q; write <ns>.<step>", text(boundInstant))
	}
	m.at = metasim.Instant{Time: metasim.Time(ns), Step: uint32(n)}
	if m.first, err = strconv.ParseUint(text(boundSequence), 10, 64); err != nil || m.first == 0 {
		return m, l.refuse(Malformed, "its sequence number is %q; it counts from 1", text(boundSequence))
	}
	if m.number = 1; members > boundMembers {
		m.number, err = strconv.Atoi(text(boundNumber))
		if err != nil || m.number < 2 || m.number > maxTogether || m.last() < m.first {
			return m, l.refuse(Malformed, "it says that it has %q payloads; a message of several has 2 to %d", text(boundNumber), maxTogether)
		}
	}
	return m, nil
}
