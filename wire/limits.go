package wire

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	"metasim/metasim"
)

// The limits, in bytes unless said otherwise. They are checked before memory is taken.
const (
	// MaxFrame is the longest frame, its length field not counted: 64 MiB.
	MaxFrame = 64 << 20
	// MaxPayload is the longest payload of a message: 64 KiB less than a frame, for what goes around it.
	MaxPayload = MaxFrame - 64<<10
	// maxState is the longest state of a Checkpoint.
	maxState = MaxPayload
	// MaxControl is the longest body of every other message, and of a Leave with its result: 4 MiB.
	MaxControl = 4 << 20
	// MaxName is the longest name of a client or channel, and the longest subscription.
	MaxName = 1024
	// MaxNames bounds the introductions on a connection: the bytes of the names, and NameCost for each.
	MaxNames = 64 << 20
	// NameCost is what an introduction counts for, beside the bytes of its name.
	NameCost = 64
	// MaxText is the longest text of a Refuse or a Failed. A longer one is cut.
	MaxText = 64 << 10
	// maxVisitor is the longest frame of a peer that has not shown the token of the run: 4 KiB.
	maxVisitor = 4 << 10
	// MaxPackets is how many packets a frame may hold.
	MaxPackets = 1 << 16
)

// Check returns nil, or why a packet cannot be sent, as a *ProtocolError. Every transport calls it, so that a packet that
// passes inside one process passes over a network too.
func Check(p Packet) error {
	switch b := p.Body.(type) {
	case Hello:
		return checkHello(b)
	case Welcome:
		return checkWelcome(b)
	case Start:
		return checkTime("an end", b.Until.Time)
	case Introduce:
		return checkName("a client", b.Name)
	case Goodbye, Failed:
		return nil
	case Checkpoint:
		return checkCheckpoint(&b)
	case Refuse:
		if b.Reason > math.MaxInt32 {
			return tooLarge("a reason", uint64(b.Reason))
		}
		return nil
	case *metasim.Send:
		return checkMessage(b.Channel, b.Payload, b.Sent, b.Sent)
	case *metasim.Promise:
		return checkTime("a promise", b.NoSendBefore.Time)
	case *metasim.Advance:
		return checkReport(&b.Report)
	case *metasim.PollWait:
		return checkPollWait(b)
	case *metasim.Leave:
		return checkLeave(b)
	case *metasim.Deliver:
		return checkMessage(b.Message.Channel, b.Message.Payload, b.Message.Sent, b.Message.Due)
	case *metasim.Authorize:
		return checkAuthorize(b)
	}
	return protocolError(fmt.Sprintf("a packet with a body of type %T", p.Body), "no such message travels",
		"use a Body as it is documented: events and effects by pointer, the others by value")
}

func checkHello(b Hello) error {
	if len(b.Token) > MaxName || !utf8.ValidString(b.Token) {
		return protocolError(fmt.Sprintf("a token of %d bytes", len(b.Token)),
			fmt.Sprintf("a token is UTF-8 of at most %d bytes", MaxName), "take METASIM_TOKEN as it is")
	}
	return firstError(checkName("a client", b.Name), checkName("a relay", b.Relay), checkNames("a publication", b.Publications),
		checkNames("a subscription", b.Subscriptions), checkTime("a reaction", b.Reaction))
}

func checkWelcome(b Welcome) error {
	const around = 8 << 10 // room for the names, and for what stands around them
	if size := len(b.About.With) + len(b.About.Directory); size > MaxControl-around || !utf8.ValidString(b.About.With) || !utf8.ValidString(b.About.Directory) {
		return protocolError(fmt.Sprintf("the parameters of client %q and its directory, %d bytes", b.About.Entry, size),
			fmt.Sprintf("they are UTF-8 of at most %d bytes", MaxControl-around), "give a large parameter as the name of a file")
	}
	known := Known{}
	if b.Known != nil {
		known = *b.Known
	}
	return firstError(checkName("a scenario", b.Scenario), checkName("an entry", b.About.Entry), checkTime("a patience", metasim.Time(b.Patience)),
		checkTime("a clock", known.Now.Time), checkTime("a promise", known.NoSendBefore.Time))
}

func checkCheckpoint(b *Checkpoint) error {
	if len(b.State) > maxState {
		return protocolError(fmt.Sprintf("a state of %d bytes", len(b.State)), fmt.Sprintf("a checkpoint has at most %d", maxState),
			"save less: what follows from the rest need not be saved")
	}
	return firstError(checkTime("a checkpoint each", b.Every), checkTime("a clock", b.Now.Time), checkTime("a promise", b.NoSendBefore.Time),
		checkTime("a next event", b.NextEvent.Time), checkTime("a cause", b.Cause.Time))
}

func checkAuthorize(b *metasim.Authorize) error {
	return firstError(checkTime("an authorization", b.Until.Time), checkTime("a threshold", b.QuietUntil.Time))
}

func checkPollWait(b *metasim.PollWait) error {
	return firstError(checkReport(&b.Report), checkTime("a wait", b.Want.Time))
}

func checkReport(r *metasim.Report) error {
	return firstError(checkTime("a clock", r.Now.Time), checkTime("a promise", r.NoSendBefore.Time),
		checkTime("a next event", r.NextEvent.Time), checkWork(r))
}

func checkWork(r *metasim.Report) error {
	if r.Computed|r.CPU|r.CoreWait >= 0 {
		return nil
	}
	return protocolError(fmt.Sprintf("a report of %dns computed, %dns of processor time and %dns without a core", r.Computed, r.CPU, r.CoreWait),
		"none of them is negative", "leave out what is not known")
}

func checkLeave(b *metasim.Leave) error {
	if b.Cut {
		return protocolError("a leave that is a cut", "the server sets Cut itself; it does not travel", "clear Cut")
	}
	if len(b.Result) > MaxControl-MaxName {
		return protocolError(fmt.Sprintf("a result of %d bytes", len(b.Result)),
			fmt.Sprintf("a result has at most %d", MaxControl-MaxName), "say less at the end, or publish it")
	}
	return checkTime("a leave", b.Now.Time)
}

// CheckSend is Check of a Send, for a caller that has no Packet yet.
func CheckSend(channel string, payload []byte, sent metasim.Instant) error {
	return checkMessage(channel, payload, sent, sent)
}

func checkMessage(channel string, payload []byte, sent, due metasim.Instant) error {
	if len(payload) > MaxPayload {
		return protocolError(fmt.Sprintf("a payload of %d bytes on %q", len(payload), clip(channel)),
			fmt.Sprintf("a payload has at most %d", MaxPayload), "split it")
	}
	if sent.Step == math.MaxUint32 && sent != metasim.Infinity {
		return protocolError(fmt.Sprintf("a send on %q at %v", clip(channel), sent),
			"that is the last step of its time, and a link without delay delivers one step later", "send at an earlier step, or a later time")
	}
	return firstError(checkName("a channel", channel), checkTime("a send", sent.Time), checkTime("a delivery", due.Time))
}

// checkNames checks each name, and the size of all together.
func checkNames(what string, names []string) error {
	total := 0
	for _, name := range names {
		if err := checkName(what, name); err != nil {
			return err
		}
		total += len(name) + 8
	}
	if total > MaxControl/4 {
		return protocolError(fmt.Sprintf("a list of %d names with %d bytes, each %s", len(names), total, what),
			fmt.Sprintf("a list has at most %d", MaxControl/4), "use fewer or shorter names")
	}
	return nil
}

func checkName(what, name string) error {
	if len(name) > MaxName {
		return protocolError(fmt.Sprintf("%s with a name of %d bytes (%q...)", what, len(name), clip(name)),
			fmt.Sprintf("a name has at most %d", MaxName), "use a shorter name")
	}
	if !utf8.ValidString(name) {
		return protocolError(fmt.Sprintf("%s called %q", what, clip(name)), "a name is valid UTF-8", "use another name")
	}
	return nil
}

func checkTime(what string, t metasim.Time) error {
	if t >= 0 {
		return nil
	}
	return protocolError(fmt.Sprintf("%s at %v", what, t), "a run begins at 0", "use a time that is not negative")
}

// clip shortens a name for an error.
func clip(s string) string { return s[:min(len(s), 40)] }

// firstError is cmp.Or, faster.
func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// A ProtocolError says that a message, received or about to be sent, is not of the protocol.
type ProtocolError struct {
	Peer   string // the sender, as Conn.Peer names it; empty for what this side was about to send
	What   string // "a frame of 4294967295 bytes"
	Bound  string // "a frame has at most 67108864"
	Remedy string // "speak the metasim protocol, version 2"
	Err    error  // the cause, or nil: io.ErrUnexpectedEOF for a stream that ended inside a frame
}

func (e *ProtocolError) Error() string {
	text := e.What
	if e.Peer != "" {
		text = e.Peer + " sent " + text
	}
	if e.Bound != "" {
		text += ": " + e.Bound
	}
	if e.Err != nil {
		text += " (" + e.Err.Error() + ")"
	}
	return text + "; " + e.Remedy
}

// Unwrap returns the cause.
func (e *ProtocolError) Unwrap() error { return e.Err }

// speak is the remedy for bytes that no metasim peer would send.
var speak = fmt.Sprintf("speak the metasim protocol, version %d", Version)

// withPeer names the peer in an error of the decoder, which does not know it.
func withPeer(peer string, err error) error {
	if err == nil { // for most frames: e would be allocated
		return nil
	}
	var e *ProtocolError
	if errors.As(err, &e) && e.Peer == "" {
		e.Peer = peer
	}
	return err
}

// protocolError is the error "what: bound; remedy".
func protocolError(what, bound, remedy string) error {
	return &ProtocolError{What: what, Bound: bound, Remedy: remedy}
}

func malformed(what string) error {
	return protocolError(what, "a packet is a member and one body", speak)
}

func tooLarge(what string, v uint64) error {
	return protocolError(fmt.Sprintf("%s of %d", what, v), fmt.Sprintf("it has 32 bits, at most %d", uint32(math.MaxUint32)),
		speak)
}

func unreadable(message string, cause error) error {
	return &ProtocolError{
		What: fmt.Sprintf("a %s that cannot be read", message), Bound: "a body is protobuf, its names are UTF-8",
		Remedy: speak, Err: cause,
	}
}

func unknownField(message string, number uint64) error {
	return protocolError(fmt.Sprintf("a %s with a field %d", message, number), "this version knows no such field", speak)
}
