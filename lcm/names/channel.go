package names

import (
	"cmp"
	"fmt"
	"strings"
)

// MaxChannel is how many bytes LCM allows a channel name on a network.
const MaxChannel = 63

// A ChannelError is a channel that a network of LCM cannot have, or a message on it that the network cannot carry.
type ChannelError struct {
	Channel string
	What    string // "has 64 bytes", and what to do
}

func (e *ChannelError) Error() string { return fmt.Sprintf("the channel %q %s", e.Channel, e.What) }

// CheckChannel returns nil, or why a name cannot be a channel on a network, as a *[ChannelError].
func CheckChannel(name string) error {
	switch {
	case name == "":
		return &ChannelError{Channel: name, What: "has no name; give it 1 to 63 bytes"}
	case len(name) > MaxChannel:
		return &ChannelError{Channel: name, What: fmt.Sprintf("has %d bytes, and LCM allows %d; shorten it", len(name), MaxChannel)}
	case strings.IndexByte(name, 0) >= 0:
		return &ChannelError{Channel: name, What: "has a zero byte, which ends a name in LCM; leave it out"}
	}
	return nil
}

// A Naming names the channels on which the messages of a run are shown. The zero value is ready to use.
type Naming struct {
	// Suffix separates a channel and the name of the sender. Empty: "@".
	Suffix string
	// Plain shows a message that was received on its own channel, as the client would have published it without a run.
	Plain bool
}

// toMark separates the names of sender and recipient. No name of a client contains it.
const toMark = ">"

// Channel returns the channel on which a message that sender sent on a channel is shown when it was received; or, with a
// recipient, when it was delivered to that. The error is a *[NameError] if LCM cannot have this channel.
func (n Naming) Channel(channel, sender, recipient string) (string, error) {
	name := channel
	if recipient != "" || !n.Plain {
		name += cmp.Or(n.Suffix, "@") + sender
	}
	if recipient != "" {
		name += toMark + recipient
	}
	if CheckChannel(name) != nil {
		return "", &NameError{Name: name, Channel: channel, Sender: sender, Recipient: recipient}
	}
	return name, nil
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
		return fmt.Sprintf("%q cannot be shown on LCM: it has a zero byte, which ends a name in LCM; remove it from %s", e.Name, what)
	}
	return fmt.Sprintf("%q cannot be shown on LCM: it has %d bytes, and LCM allows %d; shorten %s by %d",
		e.Name, len(e.Name), MaxChannel, what, len(e.Name)-MaxChannel)
}
