package seal_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/federates/authority/seal"
)

// Payloads that are sealed together keep their order and their numbers, and have one signature; each message opens as a whole, where several payloads are expected.
func TestTogether(t *testing.T) {
	a, b := newParty(t, "sim-a"), newParty(t, "sim-b")
	s, o := newSealer(t, ab, a, b), seal.NewOpener(ab, b.opens, publish(a, b).lookup, seal.Limits{})
	payloads := []string{"one", "two", "three"}
	text := together(t, s, 10, payloads...)
	_, err := o.Open(100, []byte(text))
	require.ErrorIs(t, err, seal.Malformed)
	require.ErrorContains(t, err, "it has 3 payloads, and 1 is wanted; open it with OpenAll")
	all, err := o.OpenAll(100, []byte(text))
	require.NoError(t, err)
	require.Len(t, all, 3)
	for i, m := range all {
		require.Equal(t, seal.Message{Sequence: uint64(i + 1), At: at(10, 0), Payload: []byte(payloads[i])}, m)
	}
	m, err := o.Open(100, []byte(together(t, s, 20, "four")))
	require.NoError(t, err, "one alone is as if it were sealed by Seal")
	require.Equal(t, seal.Message{Sequence: 4, At: at(20, 0), Payload: []byte("four")}, m)

	none, err := s.SealAll(at(30, 0), nil)
	require.NoError(t, err)
	require.Empty(t, none)
	_, err = s.SealAll(at(30, 0), [][]byte{[]byte("five"), nil})
	require.ErrorIs(t, err, seal.Malformed)
	m, err = o.Open(100, []byte(together(t, s, 30, "five")))
	require.NoError(t, err)
	require.Equal(t, uint64(5), m.Sequence, "what was refused took no number")
}

// What is too much for one message is in several, each of which opens with the limits that hold by default.
func TestTogetherIsSplit(t *testing.T) {
	a, b := newParty(t, "sim-a"), newParty(t, "sim-b")
	for name, c := range map[string]struct {
		size, number, messages int
	}{
		"many":  {1, 4097, 2},
		"long":  {200 << 10, 5, 3},
		"whole": {512 << 10, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s, o := newSealer(t, ab, a, b), seal.NewOpener(ab, b.opens, publish(a, b).lookup, seal.Limits{})
			payloads := make([][]byte, c.number)
			for i := range payloads {
				payloads[i] = bytes.Repeat([]byte{byte(i + 1)}, c.size)
				payloads[i][0] = 'x'
			}
			sealed, err := s.SealAll(at(10, 0), payloads)
			require.NoError(t, err)
			require.Len(t, sealed, c.messages)
			var opened [][]byte
			for _, text := range sealed {
				all, err := o.OpenAll(10, text)
				require.NoError(t, err)
				for _, m := range all {
					opened = append(opened, m.Payload)
					require.Equal(t, uint64(len(opened)), m.Sequence)
				}
			}
			require.Equal(t, payloads, opened)
		})
	}
}

// José opens what was sealed together: each payload stands after its length.
func TestJoseOpensWhatIsSealedTogether(t *testing.T) {
	j := newTool(t)
	a, b := newParty(t, "sim-a"), newParty(t, "sim-b")
	message := j.file("message", together(t, newSealer(t, ab, a, b), 10, "ball", "cube"))
	inner, err := j.run("jws", "ver", "-i", message, "-k", j.file("a.jwk", a.signs.PublicKey), "-O", "-")
	require.NoError(t, err)
	plain, err := j.run("jwe", "dec", "-i", j.file("inner", inner), "-k", j.file("b.jwk", b.opens))
	require.NoError(t, err)
	require.Equal(t, "\x00\x00\x00\x04ball\x00\x00\x00\x04cube", plain)
	_, err = j.run("jws", "ver", "-i", message, "-k", j.file("c.jwk", newParty(t, "sim-c").signs.PublicKey))
	require.Error(t, err)
}

// What José encrypts and signs with a number of payloads that is not theirs is refused, and the right one opens afterwards.
func TestWrongNumbersOfPayloads(t *testing.T) {
	j := newTool(t)
	a, b := newParty(t, "sim-a"), newParty(t, "sim-b")
	signed := func(sequence, number, plain string) []byte {
		header := `{"protected":{"alg":"ECDH-ES","enc":"A128GCM","kid":"` + b.opens.ID + `","bound":{"in":"run-1","from":"sim-a","to":"sim-b","ch":"transfer","at":"7.2","seq":"` +
			sequence + `","n":"` + number + `"}}}`
		inner, err := j.run("jwe", "enc", "-I", j.file("plain", plain), "-i", header, "-k", j.file("b.pub", b.opens.PublicKey), "-c")
		require.NoError(t, err)
		text, err := j.run("jws", "sig", "-I", j.file("inner", inner), "-s", `{"protected":{"alg":"ES256","kid":"`+a.signs.ID+`"}}`, "-k", j.file("a.key", a.signs), "-c")
		require.NoError(t, err)
		return []byte(text)
	}
	const two = "\x00\x00\x00\x01x\x00\x00\x00\x01y"
	o := seal.NewOpener(ab, b.opens, publish(a, b).lookup, seal.Limits{})
	for want, text := range map[string][]byte{
		`it says that it has "1" payloads`:                               signed("1", "1", "x"),
		`it says that it has "4097" payloads`:                            signed("1", "4097", two),
		`it says that it has "two" payloads`:                             signed("1", "two", two),
		`it says that it has "2" payloads`:                               signed("18446744073709551615", "2", two),
		"it says that it has 3 payloads, and 2 are there, with 0 bytes":  signed("1", "3", two),
		"it says that it has 2 payloads, and 2 are there, with 1 bytes":  signed("1", "2", two+"z"),
		"it says that it has 2 payloads, and 1 are there, with 3 bytes":  signed("1", "2", two[:8]),
		"it says that it has 2 payloads, and 0 are there, with 5 bytes":  signed("1", "2", "\x00\x00\x00\x00"+two[:5]),
		"it says that it has 2 payloads, and 1 are there, with 0 bytes ": signed("1", "2", two[:9]),
	} {
		_, err := o.OpenAll(7, text)
		require.ErrorIs(t, err, seal.Malformed)
		require.ErrorContains(t, err, strings.TrimSpace(want))
	}
	all, err := o.OpenAll(7, signed("5", "3", two+"\x00\x00\x00\x01z"))
	require.NoError(t, err)
	require.Len(t, all, 3)
	for first, want := range map[string]seal.Reason{"3": seal.Reordered, "4": seal.Replayed, "5": seal.Replayed, "7": seal.Replayed} {
		_, err = o.OpenAll(7, signed(first, "2", two))
		require.ErrorIs(t, err, want, "from number %s on: each payload is opened once", first)
	}
}
