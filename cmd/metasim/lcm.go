package main

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"metasim/lcm"
	"metasim/lcm/types"
	"metasim/metasim"
)

func newLCM(std streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "lcm",
		Short: "Look into event logs of LCM",
		Long: "Look into event logs of LCM, as lcm-logger writes them. With --types, messages are decoded by .lcm files; a message\n" +
			"tells its type by the first 8 bytes, whatever channel it is on.",
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newLCMInfo(std), newLCMCat(std))
	return cmd
}

// addTypes adds the flag that names .lcm files.
func addTypes(cmd *cobra.Command, paths *[]string) {
	cmd.Flags().StringArrayVar(paths, "types", nil, "decode by the .lcm files in this `directory` and below; may be repeated")
}

// loadTypes returns the types that a flag names; without any, a set that has none.
func loadTypes(paths []string) (*types.Set, error) {
	s, err := types.Load(paths...)
	if err != nil {
		return nil, badUsage(err)
	}
	return s, nil
}

// A logCheck is what can be wrong with a log.
type logCheck struct {
	events  int64
	skipped int64          // bytes that are no event
	torn    *lcm.TornError // nil if the log ends where an event ends
	back    int64          // events that are stamped earlier than one before them
	most    metasim.Time   // how much, at most
}

// readLCM gives each event of a log to visit, in the order of the file. The payload is the visitor's.
func readLCM(file string, visit func(lcm.Event) error) (check logCheck, err error) {
	f, err := os.Open(file)
	if err != nil {
		return check, badUsage(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	r := lcm.NewReader(f)
	var clock lcm.Clock
	for {
		ev, err := r.Next()
		check.skipped = r.Skipped()
		switch {
		case errors.As(err, &check.torn): // io.EOF comes next
		case errors.Is(err, io.EOF):
			return check, nil
		case err != nil:
			return check, badUsage(err)
		default:
			check.events++
			if _, back := clock.Elapsed(ev.Time); back > 0 {
				check.back++
				check.most = max(check.most, back)
			}
			if err := visit(ev); err != nil {
				return check, failed(err)
			}
		}
	}
}

// disorder says how times go back, or nothing.
func (c logCheck) disorder() string {
	if c.back == 0 {
		return ""
	}
	return fmt.Sprintf("time goes back: %d of %d events are stamped earlier than one before them, by up to %v", c.back, c.events, c.most)
}

// damage says what of the log could not be read. It is nil for one that is whole.
func (c logCheck) damage(file string) error {
	if c.events == 0 && (c.skipped > 0 || c.torn != nil) {
		return badUsage(fmt.Errorf("%s is no event log of LCM: there is no event in it; name a file that lcm-logger wrote", file))
	}
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
	return failed(fmt.Errorf("%s is damaged: %s; every whole event was read", file, strings.Join(what, ", and ")))
}

// stampText writes microseconds as seconds.
func stampText(us int64) string {
	sign, magnitude := "", uint64(us)
	if us < 0 {
		sign, magnitude = "-", -magnitude
	}
	return fmt.Sprintf("%s%d.%06d", sign, magnitude/1e6, magnitude%1e6)
}

// channelText writes a channel as it stands, or quoted if that would not be seen as one word.
func channelText(channel string) string {
	odd := func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) || r == '"' }
	if utf8.ValidString(channel) && !strings.ContainsFunc(channel, odd) {
		return channel
	}
	return strconv.Quote(channel)
}

// A channelName is how JSON names a channel. Base64 is there if the name is not UTF-8, of which JSON is not capable.
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
