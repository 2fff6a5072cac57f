package wire_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"metasim/internal/golden"
	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/wirepb"
)

// A turn is one write of a session.
type turn struct {
	who, story string
	packets    []wire.Packet
}

const ms = metasim.Millisecond

// pingPong is a whole session: two members of one connection, links of 5 ms, the run ends at 2 s.
func pingPong() []turn {
	hello := func(name, out, in string) wire.Body {
		return wire.Hello{
			Version: wire.Version, Name: name, Token: "secret", Publications: []string{out}, Subscriptions: []string{in},
		}
	}
	welcome := wire.Welcome{Scenario: "ping-pong", Seed: 1}
	start := wire.Start{Until: metasim.At(2 * metasim.Second)}
	wait := func(now metasim.Time, acked uint64) wire.Body {
		return &metasim.PollWait{
			Report: metasim.Report{Now: metasim.At(now), NextEvent: metasim.Infinity, Acked: acked},
			Want:   metasim.Infinity, Messages: true,
		}
	}
	deliver := func(from metasim.ClientID, channel string, sent, due metasim.Time) wire.Body {
		return &metasim.Deliver{Number: 1, Message: metasim.Message{
			From: from, Channel: channel, Sent: metasim.At(sent), Due: metasim.At(due), Payload: make([]byte, 8),
		}}
	}
	const pinger, ponger = 1, 2
	return []turn{
		{"client", "two members join", []wire.Packet{
			{Member: pinger, Body: hello("pinger", "PING", "PONG")},
			{Member: ponger, Body: hello("ponger", "PONG", "PING")},
		}},
		{"server", "both are let in", []wire.Packet{{Member: pinger, Body: welcome}, {Member: ponger, Body: welcome}}},
		{"server", "all have joined: the epsilon tick begins", []wire.Packet{
			{Member: pinger, Body: start}, {Member: ponger, Body: start},
		}},
		{"client", "pinger sends at the start; both wait for messages", []wire.Packet{
			{Member: pinger, Body: &metasim.Send{Channel: "PING", Payload: make([]byte, 8)}},
			{Member: pinger, Body: wait(0, 0)},
			{Member: ponger, Body: wait(0, 0)},
		}},
		{"server", "who pinger is; the ping arrives at 5 ms, and ponger may act before 15 ms", []wire.Packet{
			{Body: wire.Introduce{Client: 0, Name: "pinger"}},
			{Member: ponger, Body: deliver(0, "PING", 0, 5*ms)},
			{Member: ponger, Body: &metasim.Authorize{Until: metasim.At(15 * ms)}},
		}},
		{"client", "ponger answers at the instant it heard, then acknowledges and waits", []wire.Packet{
			{Member: ponger, Body: &metasim.Send{Channel: "PONG", Sent: metasim.At(5 * ms), Payload: make([]byte, 8)}},
			{Member: ponger, Body: wait(5*ms, 1)},
		}},
		{"server", "who ponger is; the answer arrives at 10 ms", []wire.Packet{
			{Body: wire.Introduce{Client: 1, Name: "ponger"}},
			{Member: pinger, Body: deliver(1, "PONG", 5*ms, 10*ms)},
			{Member: pinger, Body: &metasim.Authorize{Until: metasim.At(20 * ms)}},
		}},
		{"client", "pinger has what it wanted", []wire.Packet{
			{Member: pinger, Body: &metasim.Leave{Now: metasim.At(10 * ms), Acked: 1, Result: []byte(`{"rounds":1}`)}},
		}},
		{"server", "and is let go; ponger is told that nothing comes before the end of the run", []wire.Packet{
			{Member: pinger, Body: wire.Goodbye{}},
			{Member: ponger, Body: &metasim.Authorize{Until: metasim.At(2 * metasim.Second)}},
		}},
		{"client", "so it leaves", []wire.Packet{{Member: ponger, Body: &metasim.Leave{Now: metasim.At(5 * ms), Acked: 1}}}},
		{"server", "the last word", []wire.Packet{{Member: ponger, Body: wire.Goodbye{}}}},
	}
}

// timed is a session of a client that reports how long it computes.
func timed() []turn {
	return []turn{
		{"server", "a client is let in, and asked", []wire.Packet{{Body: wire.Welcome{Scenario: "ping-pong", Timed: true}}}},
		{"client", "it has computed for 21 us, and taken 16 us of processor time", []wire.Packet{{Body: &metasim.PollWait{
			Report: metasim.Report{Now: metasim.At(5 * ms), NextEvent: metasim.At(9 * ms), Acked: 1, Computed: 21_000, CPU: 16_000},
			Want:   metasim.At(9 * ms),
		}}}},
	}
}

// refusals is a session of a client of another version.
func refusals() []turn {
	return []turn{
		{"client", "a client of version 9 asks to join", []wire.Packet{{Body: wire.Hello{Version: 9, Name: "late"}}}},
		{"server", "and is refused", []wire.Packet{{Body: wire.Refuse{
			Reason: wire.BadVersion, Text: "this is version 2 and you speak 9; use metasim of the same version",
		}}}},
	}
}

// The bytes of whole sessions are pinned, with what each of them means. Rewrite with -rewrite, then read the diff: any
// change of the bytes is a change of the protocol.
func TestGoldenSessions(t *testing.T) {
	for name, session := range map[string][]turn{"ping-pong": pingPong(), "refused": refusals(), "timed": timed()} {
		path := filepath.Join("testdata", name+".hex")
		var text strings.Builder
		fmt.Fprintf(&text, "# A session of the metasim protocol, version %d: a block for each write of one side.\n",
			wire.Version)
		for _, turn := range session {
			fmt.Fprintf(&text, "\n# %s: %s\n", turn.who, turn.story)
			annotateFrame(&text, frames(t, turn.packets...))
		}
		golden.Equal(t, path, text.String())
		for i, b := range sessionBytes(t, text.String()) {
			got, err := wire.NewReader(bytes.NewReader(b), "golden").Read()
			require.NoError(t, err)
			require.Equal(t, session[i].packets, got)
		}
	}
}

// protoc reads the golden bytes too, with nothing but metasim.proto.
func TestProtocReadsGoldenSessions(t *testing.T) {
	protoc, err := exec.LookPath("protoc")
	if err != nil {
		t.Skip("SKIPPED LOUDLY: no protoc: no second implementation checks the golden sessions; " +
			"apt-get install protobuf-compiler")
	}
	golden, err := os.ReadFile("testdata/ping-pong.hex")
	require.NoError(t, err)
	var all strings.Builder
	for _, b := range sessionBytes(t, string(golden)) {
		decode := exec.Command(protoc, "--decode=metasim.v2.Frame", "--proto_path=wirepb", "metasim.proto")
		decode.Stdin = bytes.NewReader(b[4:])
		out, err := decode.CombinedOutput()
		require.NoError(t, err, string(out))
		all.Write(out)
	}
	for _, want := range []string{
		"hello {", "welcome {", "start {", "introduce {", "send_message {", "poll_wait {", "delivered_message {", "authorize_advance {",
		"leave {", "goodbye {", `token: "secret"`, "infinity: true", "time: 15000000",
	} {
		require.Contains(t, all.String(), want)
	}
	require.NotRegexp(t, `(?m)^\s*\d+[:{ ]`, all.String(), "a field without a name")
}

// sessionBytes reads a golden file: the bytes of each write.
func sessionBytes(t *testing.T, text string) [][]byte {
	t.Helper()
	var writes [][]byte
	for _, block := range strings.Split(text, "\n\n")[1:] {
		var b []byte
		for line := range strings.Lines(block) {
			code, _, _ := strings.Cut(line, "#")
			bytes, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(code), " ", ""))
			require.NoError(t, err)
			b = append(b, bytes...)
		}
		writes = append(writes, b)
	}
	return writes
}

func annotateFrame(text *strings.Builder, b []byte) {
	line(text, b[:4], 0, fmt.Sprintf("a frame of %d bytes", binary.LittleEndian.Uint32(b)))
	annotate(text, b[4:], (&wirepb.Frame{}).ProtoReflect().Descriptor(), 1)
}

// annotate writes a message by its descriptor, one field on each line.
func annotate(text *strings.Builder, b []byte, message protoreflect.MessageDescriptor, depth int) {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		field := message.Fields().ByNumber(number)
		if kind == protowire.VarintType {
			value, m := protowire.ConsumeVarint(b[n:])
			line(text, b[:n+m], depth, fmt.Sprintf("%s = %d", field.Name(), value))
			b = b[n+m:]
			continue
		}
		value, m := protowire.ConsumeBytes(b[n:])
		header := n + m - len(value)
		if field.Kind() == protoreflect.MessageKind {
			line(text, b[:header], depth, fmt.Sprintf("%s, %d bytes", field.Name(), len(value)))
			annotate(text, value, field.Message(), depth+1)
		} else {
			line(text, b[:header], depth, fmt.Sprintf("%s = %q", field.Name(), value))
			for rest := value; len(rest) > 0; rest = rest[min(16, len(rest)):] {
				line(text, rest[:min(16, len(rest))], depth, "")
			}
		}
		b = b[n+m:]
	}
}

func line(text *strings.Builder, b []byte, depth int, comment string) {
	if comment == "" {
		fmt.Fprintf(text, "% x\n", b)
		return
	}
	fmt.Fprintf(text, "%-48s# %s%s\n", fmt.Sprintf("% x", b), strings.Repeat("  ", depth), comment)
}
