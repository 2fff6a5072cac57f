// Package inspect says what is in an event log of LCM: a summary, or every message, decoded by types if they are known.
package inspect

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"metasim/lcm"
	"metasim/metasim"
)

// A Check says what is wrong with a log that was read.
type Check struct {
	Events  int64
	skipped int64          // bytes that are no event
	torn    *lcm.TornError // nil if the log ends where an event ends
	back    int64          // events that are stamped earlier than one before them
	most    metasim.Time   // by how much, at most
}

// A DamageError says what of a log could not be read.
type DamageError struct {
	File string
	// Empty: there is no event in it, so it is no event log.
	Empty bool
	what  string
}

func (e *DamageError) Error() string {
	if e.Empty {
		return e.File + " is no event log of LCM: there is no event in it; name a file that lcm-logger wrote"
	}
	return fmt.Sprintf("%s is damaged: %s; every whole event was read", e.File, e.what)
}

// A follower reads a log, and goes on when the log has grown.
type follower struct {
	log   io.Reader   // an io.Seeker if wait is set
	wait  func() bool // waits for the log to grow, and reports false to stop; nil: stop at the end
	clock lcm.Clock
}

// read gives each event to visit, in the order of the log. visit may keep the payload.
func (f *follower) read(check *Check, visit func(lcm.Event) error) error {
	for offset, skipped := int64(0), int64(0); ; {
		r := lcm.NewReader(f.log)
		if err := f.readOn(r, skipped, check, visit); err != nil || f.wait == nil || !f.wait() {
			return err
		}
		offset, skipped, check.torn = offset+r.Offset(), check.skipped, nil // what is torn may be written by now
		if seeker, ok := f.log.(io.Seeker); !ok {
			return errors.New("it is no file that can grow; leave out --follow")
		} else if _, err := seeker.Seek(offset, io.SeekStart); err != nil {
			return err
		}
	}
}

// readOn reads to the end of what is there.
func (f *follower) readOn(r *lcm.Reader, skipped int64, check *Check, visit func(lcm.Event) error) error {
	for {
		ev, err := r.Next()
		check.skipped = skipped + r.Skipped()
		switch {
		case errors.As(err, &check.torn): // io.EOF comes next
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		check.Events++
		if _, back := f.clock.Elapsed(ev.Time); back > 0 {
			check.back++
			check.most = max(check.most, back)
		}
		if err := visit(ev); err != nil {
			return err
		}
	}
}

// Disorder says how times go back; empty if they do not.
func (c Check) Disorder() string {
	if c.back == 0 {
		return ""
	}
	return fmt.Sprintf("time goes back: %d of %d events are stamped earlier than one before them, by up to %v", c.back, c.Events, c.most)
}

// Damage returns a *DamageError for a log that is not whole, else nil.
func (c Check) Damage(file string) error {
	var what []string
	if c.skipped > 0 {
		what = append(what, fmt.Sprintf("%d bytes in it are no event", c.skipped))
	}
	if c.torn != nil {
		what = append(what, fmt.Sprintf("it ends inside the event at byte %d, with %d bytes of %d", c.torn.Offset, c.torn.Have, c.torn.Want))
	}
	if what == nil {
		return nil
	}
	return &DamageError{File: file, Empty: c.Events == 0, what: strings.Join(what, ", and ")}
}

// seconds writes microseconds as seconds.
func seconds(us int64) string {
	sign, magnitude := "", uint64(us)
	if us < 0 {
		sign, magnitude = "-", -magnitude
	}
	return fmt.Sprintf("%s%d.%06d", sign, magnitude/1e6, magnitude%1e6)
}

// word writes the name of a channel as it is, or quoted if it would not be seen as one word.
func word(channel string) string {
	odd := func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) || r == '"' }
	if utf8.ValidString(channel) && !strings.ContainsFunc(channel, odd) {
		return channel
	}
	return strconv.Quote(channel)
}

// A channelName is the name of a channel in JSON. Base64 is there if the name is not UTF-8, which JSON cannot hold.
type channelName struct {
	Channel string `json:"channel"`
	Base64  string `json:"channel_base64,omitempty"`
}

func nameOf(channel string) channelName {
	if utf8.ValidString(channel) {
		return channelName{Channel: channel}
	}
	return channelName{strings.ToValidUTF8(channel, "\ufffd"), base64.StdEncoding.EncodeToString([]byte(channel))}
}
