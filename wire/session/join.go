package session

import (
	"errors"
	"fmt"
	"slices"

	"metasim/metasim"
	"metasim/wire"
)

// ErrComplete is returned for what is declared after the client has joined: others rely on what it declared.
var ErrComplete = errors.New("channels are fixed once the client has joined; declare them before Complete")

var errNoName = errors.New("no name; give NewBuilder one, or set METASIM_CLIENT")

// Publish declares a channel that the client sends on. Declaring it twice is no mistake.
func (d *Declaration) Publish(channel string) error {
	switch {
	case slices.Contains(d.declared.Publications, channel):
		return nil
	case d.complete:
		return ErrComplete
	case channel == "":
		return d.mistake(errors.New("a publication needs a channel name"))
	}
	d.declared.Publications = append(d.declared.Publications, channel)
	return nil
}

// Subscribe declares interest in a channel: its name, or a regular expression that matches the whole name, as in LCM.
func (d *Declaration) Subscribe(pattern string) error {
	if d.complete {
		return ErrComplete
	}
	if err := metasim.CheckSubscription(pattern); err != nil {
		return d.mistake(fmt.Errorf("subscription %q is neither a channel name nor a regular expression: %w", pattern, err))
	}
	d.declared.Subscriptions = append(d.declared.Subscriptions, pattern)
	return nil
}

// React declares the least time from a delivery to a send that it causes. 0 allows an answer at the instant of the message.
func (d *Declaration) React(reaction metasim.Time) error {
	if d.complete {
		return ErrComplete
	}
	if reaction < 0 {
		return d.mistake(fmt.Errorf("the reaction time is %v; use a positive duration, or 0", reaction))
	}
	d.declared.Reaction = reaction
	return nil
}

// SendOnlyEvery declares that the client sends only at times that are multiples of a period.
func (d *Declaration) SendOnlyEvery(period metasim.Time) error {
	if d.complete {
		return ErrComplete
	}
	if period <= 0 {
		return d.mistake(fmt.Errorf("the period between sends is %v; use a positive duration", period))
	}
	d.period = period
	return nil
}

// Save declares that the client can make checkpoints, and begin at one.
func (d *Declaration) Save() error {
	if d.complete {
		return ErrComplete
	}
	d.declared.Saves = true
	return nil
}

// Survive declares that the client can come back to a server that was resumed.
func (d *Declaration) Survive() error {
	if d.complete {
		return ErrComplete
	}
	d.declared.Returns = true
	return nil
}

func (d *Declaration) mistake(err error) error {
	if d.err == nil {
		d.err = err
	}
	return err
}

// Check returns the first thing that keeps a client of this name, with this token, from joining.
func (d *Declaration) Check(name, token string) error {
	switch {
	case d.complete:
		return ErrComplete
	case d.err != nil:
		return d.err
	case name == "":
		return errNoName
	}
	return wire.Check(wire.Packet{Body: d.hello(name, token)})
}

// Join makes the client that was declared, and puts its Hello into out. Nothing may be declared afterwards. It fails as
// Check does. The client may act once it is Started.
func (d *Declaration) Join(name, token string, out *Outbound) (*Client, error) {
	if err := d.Check(name, token); err != nil {
		return nil, err
	}
	d.complete = true
	out.put(d.hello(name, token))
	out.urgent = true
	return &Client{name: name, own: name, subscriptions: d.declared.Subscriptions, reaction: d.declared.Reaction, period: d.period, out: out,
		reported: reported{cause: metasim.Infinity}, timers: newTimers(), save: save{able: d.declared.Saves}, hello: d.hello(name, token)}, nil
}

func (d *Declaration) hello(name, token string) wire.Hello {
	h := d.declared
	h.Version, h.Minor, h.Name, h.Token = wire.Version, wire.Minor, name, token
	return h
}
