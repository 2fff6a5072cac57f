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
)

func (l Link) bound(sequence uint64, at metasim.Instant) map[string]string {
	return map[string]string{
		boundInstance: l.Instance, boundSender: l.Sender, boundRecipient: l.Recipient, boundChannel: l.Channel,
		boundSequence: strconv.FormatUint(sequence, 10),
		boundInstant:  fmt.Sprintf("%d.%d", int64(at.Time), at.Step),
	}
}

// readBound reads which message this is, and holds it against the link.
func (l Link) readBound(header jose.Header) (m Message, err error) {
	all, ok := header.ExtraHeaders[boundHeader].(map[string]any)
	if !ok || len(all) != boundMembers {
		return m, l.refuse(Malformed, "its JWE has no header %q with %d members", boundHeader, boundMembers)
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
	m.At = metasim.Instant{Time: metasim.Time(ns), Step: uint32(n)}
	if m.Sequence, err = strconv.ParseUint(text(boundSequence), 10, 64); err != nil || m.Sequence == 0 {
		return m, l.refuse(Malformed, "its sequence number is %q; it counts from 1", text(boundSequence))
	}
	return m, nil
}
