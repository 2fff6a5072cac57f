package compare_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/record"
	"metasim/record/compare"
)

// What a person reads of a verdict.
func TestText(t *testing.T) {
	text := func(v *compare.Verdict) string {
		var b strings.Builder
		require.NoError(t, v.WriteText(&b))
		return b.String()
	}
	require.Equal(t, "equal\n", text(&compare.Verdict{Equal: true}))

	at, due := record.Instant(metasim.At(5)), record.Instant(metasim.At(7))
	a := &compare.Message{From: "x", Channel: "C", Seq: 3, Sent: at, Due: &due, Size: 2, Payload: []byte("hi")}
	b := &compare.Message{From: "x", Channel: "C", Seq: 3, Sent: at, Due: &due, Size: 2, Payload: []byte("ho")}
	v := &compare.Verdict{First: &compare.Divergence{At: due, To: "y", From: "x", Channel: "C", A: a, B: b}}
	require.Equal(t, `different at 7ns: x to y on C
  A: message 3 of x, sent 5ns, due 7ns: "hi"
  B: message 3 of x, sent 5ns, due 7ns: "ho"
caused by no client: everything that was sent before is the same, so the links differ
`, text(v))

	v.Cause, v.Culprit, v.CulpritAt, v.First.To, v.First.B = "client", "x", &at, "", nil
	require.Equal(t, `different at 7ns: x on C, without a recipient
  A: message 3 of x, sent 5ns, due 7ns: "hi"
  B: nothing
caused by x, at 5ns: what it received until then is the same, what it sent is not
`, text(v))

	leave := &compare.Message{From: "x", Sent: at, Payload: []byte(`{"n":1}`), Size: 7}
	v.First = &compare.Divergence{At: at, From: "x", A: leave}
	require.Equal(t, `different at 5ns: how x leaves
  A: x leaves at 5ns: "{\"n\":1}"
  B: nothing
caused by x, at 5ns: what it received until then is the same, what it sent is not
`, text(v))
}

// Of a long payload the part that differs is shown.
func TestDescribe(t *testing.T) {
	message := func(payload string) *compare.Message {
		return &compare.Message{From: "x", Channel: "C", Size: len(payload), Payload: []byte(payload)}
	}
	zeros := strings.Repeat("0", 40)
	for _, c := range []struct{ one, other, want string }{
		{"short", "other", `message 0 of x, sent 0s: "short"`},
		{zeros, zeros, `message 0 of x, sent 0s: 40 bytes, first "` + zeros[:32] + `"`},
		{zeros, zeros + "1", `message 0 of x, sent 0s: 40 bytes, first "` + zeros[:32] + `"`},
		{zeros + "12", zeros + "22", `message 0 of x, sent 0s: 42 bytes, from byte 40 on "12"`},
	} {
		require.Equal(t, c.want, message(c.one).Describe(message(c.other)))
	}
	decoded := message("x")
	decoded.Type, decoded.Decoded = "pose", []byte(`{"x":1}`)
	require.Equal(t, `message 0 of x, sent 0s: pose {"x":1}`, decoded.Describe(nil))
}
