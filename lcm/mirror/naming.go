package mirror

import (
	"fmt"
	"strings"

	"metasim/lcm/bus"
)

// DefaultSuffix stands between a channel and the name of the sender where nothing else is said.
const DefaultSuffix = "@"

// toMark stands between the names of sender and recipient. No client has it in its name.
const toMark = ">"

// A Naming makes the names of channels on the network. The zero value uses DefaultSuffix.
type Naming struct {
	// Suffix stands between a channel and the name of the sender. Empty: DefaultSuffix.
	Suffix string
}

func (n Naming) suffix() string {
	if n.Suffix == "" {
		return DefaultSuffix
	}
	return n.Suffix
}

// Received is where a message that a client sent is shown.
func (n Naming) Received(channel, sender string) string { return channel + n.suffix() + sender }

// Delivered is where a message that reached a client is shown.
func (n Naming) Delivered(channel, sender, recipient string) string {
	return channel + n.suffix() + sender + toMark + recipient
}

// A NameError is a channel that cannot be shown.
type NameError struct {
	Name                       string // on the network
	Channel, Sender, Recipient string // Recipient is empty for a message received
}

func (e *NameError) Error() string {
	what := fmt.Sprintf("channel %q (%d bytes) or client %q (%d)", e.Channel, len(e.Channel), e.Sender, len(e.Sender))
	if e.Recipient != "" {
		what = fmt.Sprintf("channel %q (%d bytes), client %q (%d) or client %q (%d)", e.Channel, len(e.Channel),
			e.Sender, len(e.Sender), e.Recipient, len(e.Recipient))
	}
	if strings.IndexByte(e.Name, 0) >= 0 {
		return fmt.Sprintf("%q cannot be shown on LCM: it has a zero byte, which ends a name there; take it out of %s", e.Name, what)
	}
	return fmt.Sprintf("%q cannot be shown on LCM: it has %d bytes, and LCM allows %d; shorten %s by %d",
		e.Name, len(e.Name), bus.MaxChannel, what, len(e.Name)-bus.MaxChannel)
}

// Check reports why messages of a channel from sender to recipient cannot be shown, as a *[NameError], or nil. An empty
// recipient asks for what is received.
func (n Naming) Check(channel, sender, recipient string) error {
	name := n.Received(channel, sender)
	if recipient != "" {
		name = n.Delivered(channel, sender, recipient)
	}
	if bus.CheckChannel(name) == nil {
		return nil
	}
	return &NameError{Name: name, Channel: channel, Sender: sender, Recipient: recipient}
}
