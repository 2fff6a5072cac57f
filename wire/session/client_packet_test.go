package session_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"metasim/metasim"
	"metasim/wire"
)

// An object is a JSON object whose fields stay in order. As text it is its fields in order, each key=value.
type object []field

type field struct {
	key   string
	value any // a string, a number, a bool, an instant, payload, or a list of strings
}

// An instant is [nanoseconds, step] in JSON, or "infinity".
type instant metasim.Instant

// A payload is hexadecimal in JSON.
type payload []byte

func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i, f := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		value, err := json.Marshal(f.value)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "%q:%s", f.key, value)
	}
	return fmt.Appendf(nil, "{%s}", b.Bytes()), nil
}

func (o object) String() string {
	var words []string
	for _, f := range o {
		switch v := f.value.(type) {
		case string:
			words = append(words, fmt.Sprintf("%s=%q", f.key, v))
		case payload:
			words = append(words, fmt.Sprintf("%s=%q", f.key, []byte(v)))
		case []string:
			words = append(words, f.key+"="+strings.Join(v, ","))
		default:
			words = append(words, fmt.Sprintf("%s=%v", f.key, v))
		}
	}
	return strings.Join(words, " ")
}

// maxShown is the longest payload, and the longest frame, that a vector holds in bytes.
const maxShown = 4096

// with adds a field unless its value is the zero value.
func (o object) with(key string, value any) object {
	switch v := value.(type) {
	case string:
		if v == "" {
			return o
		}
	case uint64:
		if v == 0 {
			return o
		}
	case bool:
		if !v {
			return o
		}
	case []string:
		if len(v) == 0 {
			return o
		}
	case payload:
		if len(v) == 0 {
			return o
		}
		if len(v) > maxShown {
			return append(o, field{"size", uint64(len(v))})
		}
	}
	return append(o, field{key, value})
}

func (i instant) String() string {
	if metasim.Instant(i) == metasim.Infinity {
		return "infinity"
	}
	return metasim.Instant(i).String()
}

func (i instant) MarshalJSON() ([]byte, error) {
	if metasim.Instant(i) == metasim.Infinity {
		return []byte(`"infinity"`), nil
	}
	return fmt.Appendf(nil, "[%d,%d]", int64(i.Time), i.Step), nil
}

func (i *instant) UnmarshalJSON(b []byte) error {
	if string(b) == `"infinity"` {
		*i = instant(metasim.Infinity)
		return nil
	}
	var pair [2]int64
	err := json.Unmarshal(b, &pair)
	*i = instant{Time: metasim.Time(pair[0]), Step: uint32(pair[1])}
	return err
}

func (p payload) MarshalJSON() ([]byte, error) { return json.Marshal(hex.EncodeToString(p)) }

func (p *payload) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	var err error
	*p, err = hex.DecodeString(s)
	return err
}

// readInstant reads "5ms", "5ms+2" or "infinity".
func readInstant(s string) (instant, error) {
	if s == "infinity" {
		return instant(metasim.Infinity), nil
	}
	at, step, found := strings.Cut(s, "+")
	d, err := time.ParseDuration(at)
	i := instant(metasim.At(metasim.Time(d)))
	if err == nil && found {
		var n uint64
		n, err = strconv.ParseUint(step, 10, 32)
		i.Step = uint32(n)
	}
	return i, err
}

// fieldsOf returns a packet as docs/protocol.md names it and its fields.
func fieldsOf(p wire.Packet) object {
	o := object{{"packet", wire.NameOf(p.Body)}}.with("member", uint64(p.Member))
	switch b := p.Body.(type) {
	case wire.Hello:
		o = o.with("version", uint64(b.Version)).with("name", b.Name).with("token", b.Token).
			with("publications", b.Publications).with("subscriptions", b.Subscriptions).with("reaction", uint64(b.Reaction)).with("minor", uint64(b.Minor)).
			with("saves", b.Saves).with("returns", b.Returns)
		if b.Back != nil {
			o = append(o, field{"sent", b.Back.Sent}, field{"handled", b.Back.Handled})
		}
		return o
	case wire.Welcome:
		o = o.with("scenario", b.Scenario).with("seed", b.Seed).with("timed", b.Timed).with("core_wait", b.CoreWait).
			with("entry", b.About.Entry).with("index", uint64(b.About.Index)).with("count", uint64(b.About.Count)).
			with("with", b.About.With).with("directory", b.About.Directory).with("patience", uint64(b.Patience))
		if k := b.Known; k != nil {
			o = append(o, field{"known", k.Sent}, field{"delivered", k.Delivered}, field{"now", instant(k.Now)}, field{"no_send_before", instant(k.NoSendBefore)})
		}
		return o
	case wire.Checkpoint:
		o = o.with("every", uint64(b.Every))
		if b.Failed != "" || b.Now == metasim.Start {
			return o.with("failed", b.Failed)
		}
		return append(o, field{"now", instant(b.Now)}, field{"no_send_before", instant(b.NoSendBefore)}, field{"next_event", instant(b.NextEvent)},
			field{"cause", instant(b.Cause)}, field{"acked", b.Acked}, field{"state", payload(b.State)})
	case wire.Start:
		return o.with("until", instant(b.Until))
	case wire.Introduce:
		return append(o, field{"client", uint64(b.Client)}).with("name", b.Name)
	case wire.Refuse:
		return o.with("reason", uint64(b.Reason)).with("text", b.Text)
	case wire.Failed:
		return o.with("reason", b.Reason)
	case *metasim.Send:
		return o.with("channel", b.Channel).with("sent", instant(b.Sent)).with("payload", payload(b.Payload))
	case *metasim.Promise:
		return o.with("no_send_before", instant(b.NoSendBefore))
	case *metasim.Advance:
		return reported(o, b.Report)
	case *metasim.PollWait:
		return reported(o, b.Report).with("want", instant(b.Want)).with("messages", b.Messages)
	case *metasim.Leave:
		return o.with("now", instant(b.Now)).with("acked", b.Acked).with("result", payload(b.Result))
	case *metasim.Deliver:
		m := b.Message
		return append(o, field{"number", b.Number}, field{"from", uint64(m.From)}, field{"seq", m.Seq}).with("channel", m.Channel).
			with("sent", instant(m.Sent)).with("due", instant(m.Due)).with("payload", payload(m.Payload))
	case *metasim.Authorize:
		return o.with("until", instant(b.Until)).with("quiet_until", instant(b.QuietUntil))
	}
	return o
}

func reported(o object, r metasim.Report) object {
	return append(o.with("now", instant(r.Now)).with("no_send_before", instant(r.NoSendBefore)).
		with("next_event", instant(r.NextEvent)), field{"acked", r.Acked}).
		with("computed", uint64(r.Computed)).with("cpu", uint64(r.CPU)).with("core_wait", uint64(r.CoreWait))
}

// arguments are the key=value words of a command.
type arguments interface {
	Arg(key string) (string, bool)
	Flag(word string) bool
}

// reader takes values out of arguments, and keeps the first error.
type reader struct {
	arguments
	err error
}

func (r *reader) text(key string) string {
	v, _ := r.Arg(key)
	return strings.ReplaceAll(v, "_", " ")
}

func (r *reader) number(key string) uint64 {
	v, given := r.Arg(key)
	if !given {
		return 0
	}
	n, err := strconv.ParseUint(v, 10, 64)
	r.fail(err)
	return n
}

func (r *reader) instant(key string) metasim.Instant {
	v, given := r.Arg(key)
	if !given {
		return metasim.Instant{}
	}
	i, err := readInstant(v)
	r.fail(err)
	return metasim.Instant(i)
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// state reads the state of a checkpoint: what this library writes before it when no timer is set, nothing was drawn and there is no result; and, for a client that can come back,
// how much it had sent.
func (r *reader) state() []byte {
	text := r.text("state")
	switch sent, counted := r.Arg("sent"); {
	case text == "":
		return nil
	case counted:
		n, err := strconv.ParseUint(sent, 10, 7)
		r.fail(err)
		return append([]byte{3, byte(n), 0, 0, 0}, text...)
	}
	return append([]byte{2, 0, 0, 0}, text...)
}

// parsePacket reads a packet of the server from the arguments of a command.
func parsePacket(kind string, from arguments) (wire.Packet, error) {
	r := &reader{arguments: from}
	p := wire.Packet{Member: uint32(r.number("member"))}
	switch kind {
	case "Welcome":
		welcome := wire.Welcome{
			Patience: int64(r.number("patience")),
			Scenario: r.text("scenario"), Seed: r.number("seed"), Timed: r.Flag("timed"), CoreWait: r.Flag("core_wait"),
			About: wire.About{
				Entry: r.text("entry"), Index: uint32(r.number("index")), Count: uint32(r.number("count")), With: r.text("with"), Directory: r.text("directory"),
			},
		}
		if text, back := r.Arg("known"); back {
			sent, err := strconv.ParseUint(text, 10, 64)
			r.fail(err)
			welcome.Known = &wire.Known{Sent: sent, Delivered: r.number("delivered"), Now: r.instant("now"), NoSendBefore: r.instant("no_send_before")}
		}
		p.Body = welcome
	case "Checkpoint":
		p.Body = wire.Checkpoint{
			Every: metasim.Time(r.number("every")), Now: r.instant("now"), NoSendBefore: r.instant("no_send_before"), NextEvent: r.instant("next_event"),
			Cause: r.instant("cause"), Acked: r.number("acked"), State: r.state(),
		}
	case "Start":
		p.Body = wire.Start{Until: r.instant("until")}
	case "Introduce":
		p.Body = wire.Introduce{Client: metasim.ClientID(r.number("client")), Name: r.text("name")}
	case "Goodbye":
		p.Body = wire.Goodbye{}
	case "Refuse":
		p.Body = wire.Refuse{Reason: wire.Reason(r.number("reason")), Text: r.text("text")}
	case "DeliveredMessage":
		p.Body = &metasim.Deliver{Number: r.number("number"), Message: metasim.Message{
			From: metasim.ClientID(r.number("from")), Seq: r.number("seq"), Channel: r.text("channel"),
			Sent: r.instant("sent"), Due: r.instant("due"), Payload: []byte(r.text("payload")),
		}}
	case "AuthorizeAdvance":
		p.Body = &metasim.Authorize{Until: r.instant("until"), QuietUntil: r.instant("quiet_until")}
	case "NotifyAdvance":
		p.Body = &metasim.Advance{}
	default:
		return p, fmt.Errorf("no server sends a %s", kind)
	}
	return p, r.err
}
