package seal_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/federates/authority/seal"
	"metasim/metasim"
)

var ab = seal.Link{Instance: "run-1", Sender: "sim-a", Recipient: "sim-b", Channel: "transfer"}

// A party has the keys of a server: one to sign with, one that others encrypt to.
type party struct{ signs, opens seal.PrivateKey }

func newParty(t require.TestingT, name string) party {
	signs, err := seal.NewPrivateKey("sig")
	require.NoError(t, err)
	opens, err := seal.NewPrivateKey("enc")
	require.NoError(t, err)
	signs.Owner, opens.Owner = name, name
	return party{signs, opens}
}

// A book is what a homeserver publishes.
type book map[string]seal.PublicKey

func (b book) lookup(id string) (seal.PublicKey, bool) {
	k, ok := b[id]
	return k, ok
}

func publish(all ...party) book {
	b := book{}
	for _, p := range all {
		b[p.signs.ID], b[p.opens.ID] = p.signs.PublicKey, p.opens.PublicKey
	}
	return b
}

func at(ns int64, step uint32) metasim.Instant {
	return metasim.Instant{Time: metasim.Time(ns), Step: step}
}

func newSealer(t require.TestingT, l seal.Link, from, to party) *seal.Sealer {
	s, err := seal.NewSealer(l, from.signs, to.opens.PublicKey)
	require.NoError(t, err)
	return s
}

// together seals payloads as one message.
func together(t require.TestingT, s *seal.Sealer, ns int64, payloads ...string) string {
	var all [][]byte
	for _, p := range payloads {
		all = append(all, []byte(p))
	}
	sealed, err := s.SealAll(at(ns, 0), all)
	require.NoError(t, err)
	require.Len(t, sealed, 1)
	return string(sealed[0])
}

func sealAll(t require.TestingT, l seal.Link, from, to party, payloads ...string) (all []string) {
	s := newSealer(t, l, from, to)
	for i, p := range payloads {
		b, err := s.Seal(at(int64(10*(i+1)), uint32(i)), []byte(p))
		require.NoError(t, err)
		all = append(all, string(b))
	}
	return all
}

// What was sealed opens, once, and says which message of the link it is.
func TestRoundTrip(t *testing.T) {
	a, b := newParty(t, "sim-a"), newParty(t, "sim-b")
	all := sealAll(t, ab, a, b, "one", "two", "three", "four")
	o := seal.NewOpener(ab, b.opens, publish(a, b).lookup, seal.Limits{})
	m, err := o.Open(100, []byte(all[0]))
	require.NoError(t, err)
	require.Equal(t, seal.Message{Sequence: 1, At: at(10, 0), Payload: []byte("one")}, m)
	m, err = o.Open(100, []byte(all[2]))
	require.NoError(t, err, "one may be missing")
	require.Equal(t, seal.Message{Sequence: 3, At: at(30, 2), Payload: []byte("three")}, m)
	for i, want := range []seal.Reason{seal.Replayed, seal.Reordered, seal.Replayed} {
		_, err = o.Open(100, []byte(all[i]))
		require.ErrorIs(t, err, want)
	}
	_, err = o.Open(39, []byte(all[3]))
	require.ErrorIs(t, err, seal.FromFuture)
	_, err = o.Open(40, []byte(all[3]))
	require.NoError(t, err)
	require.NotContains(t, strings.Join(all, ""), base64.RawURLEncoding.EncodeToString([]byte("three")))
}

// Two messages with the same content have nothing in common but their headers: the ephemeral key is fresh.
func TestEphemeralKeysAreFresh(t *testing.T) {
	a, b := newParty(t, "sim-a"), newParty(t, "sim-b")
	seen := map[string]bool{}
	for _, text := range sealAll(t, ab, a, b, "x", "x", "x") {
		inner, err := base64.RawURLEncoding.DecodeString(strings.Split(text, ".")[1])
		require.NoError(t, err)
		header, err := base64.RawURLEncoding.DecodeString(strings.Split(string(inner), ".")[0])
		require.NoError(t, err)
		var h struct{ Epk json.RawMessage }
		require.NoError(t, json.Unmarshal(header, &h))
		require.False(t, seen[string(h.Epk)])
		seen[string(h.Epk)] = true
	}
}

// Each thing that can be wrong has a reason of its own, and the message that is right opens afterwards.
func TestRefusals(t *testing.T) {
	for _, payloads := range [][]string{{"x"}, {"x", "y"}} {
		t.Run(fmt.Sprint(len(payloads), " together"), func(t *testing.T) { refusals(t, payloads...) })
	}
}

func refusals(t *testing.T, payloads ...string) {
	a, b, c := newParty(t, "sim-a"), newParty(t, "sim-b"), newParty(t, "sim-c")
	all := publish(a, b, c)
	seals := func(l seal.Link, from, to party) string {
		return together(t, newSealer(t, l, from, to), 10, payloads...)
	}
	good := seals(ab, a, b)
	other := func(change func(*seal.Link)) seal.Link {
		l := ab
		change(&l)
		return l
	}
	bounded := func(from, until metasim.Time) book {
		k, books := a.signs.PublicKey, publish(a, b, c)
		k.From, k.Until = from, until
		books[k.ID] = k
		return books
	}
	stolen := c // sim-c signs, and says that it is sim-a
	for name, tc := range map[string]struct {
		text  string
		link  seal.Link
		books book
		now   metasim.Time
		want  seal.Reason
	}{
		"another instance":    {seals(other(func(l *seal.Link) { l.Instance = "run-2" }), a, b), ab, all, 100, seal.WrongInstance},
		"another channel":     {seals(other(func(l *seal.Link) { l.Channel = "chat" }), a, b), ab, all, 100, seal.WrongChannel},
		"another recipient":   {seals(other(func(l *seal.Link) { l.Recipient = "sim-c" }), a, b), ab, all, 100, seal.WrongRecipient},
		"swapped sender":      {seals(ab, stolen, b), ab, all, 100, seal.WrongSender},
		"sealed by another":   {seals(other(func(l *seal.Link) { l.Sender = "sim-c" }), a, b), ab, all, 100, seal.WrongSender},
		"to another key":      {seals(ab, a, c), ab, all, 100, seal.WrongKey},
		"unpublished key":     {good, ab, publish(b), 100, seal.UnknownKey},
		"expired":             {good, ab, bounded(0, 100), 100, seal.Expired},
		"not yet valid":       {good, ab, bounded(101, 0), 100, seal.NotYetValid},
		"no JWS":              {"hello", ab, all, 100, seal.Malformed},
		"two parts":           {"aaaa.aaaa", ab, all, 100, seal.Malformed},
		"not base64":          {"a!.a.a", ab, all, 100, seal.Malformed},
		"loose bits":          {good[:len(good)-1] + loosen(good[len(good)-1]), ab, all, 100, seal.Malformed},
		"line break":          {good + "\n", ab, all, 100, seal.Malformed},
		"no payload":          {strings.Replace(good, ".", "..", 1), ab, all, 100, seal.Malformed},
		"larger than allowed": {good + strings.Repeat("A", 1<<20), ab, all, 100, seal.TooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			o := seal.NewOpener(tc.link, b.opens, tc.books.lookup, seal.Limits{})
			_, err := o.OpenAll(tc.now, []byte(tc.text))
			require.ErrorIs(t, err, tc.want)
			var typed *seal.Error
			require.ErrorAs(t, err, &typed)
			require.Equal(t, ab, typed.Link)
			if tc.books[a.signs.ID].Until == 0 && tc.books[a.signs.ID].From == 0 && tc.want != seal.UnknownKey {
				_, err = o.OpenAll(tc.now, []byte(good))
				require.NoError(t, err, "nothing has changed")
			}
		})
	}
}

// loosen returns another character that stands for the same bits, where only the first of its six bits count.
func loosen(c byte) string {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return string(digits[strings.IndexByte(digits, c)^1])
}

// A skew of clocks is allowed for, and no more.
func TestSkew(t *testing.T) {
	a, b := newParty(t, "sim-a"), newParty(t, "sim-b")
	books := publish(a, b)
	k := a.signs.PublicKey
	k.From, k.Until = 5, 20
	books[k.ID] = k
	text := []byte(sealAll(t, ab, a, b, "x")[0]) // at 10 ns
	for now, want := range map[metasim.Time]error{1: seal.NotYetValid, 2: seal.FromFuture, 6: seal.FromFuture, 7: nil, 22: nil, 23: seal.Expired} {
		_, err := seal.NewOpener(ab, b.opens, books.lookup, seal.Limits{Skew: 3}).Open(now, text)
		require.ErrorIs(t, err, want, "at %d", now)
	}
}

// A sealer does not use keys that are not valid any more, or for something else.
func TestSealerChecksItsKeys(t *testing.T) {
	a, b := newParty(t, "sim-a"), newParty(t, "sim-b")
	to := b.opens.PublicKey
	to.Until = 10
	s, err := seal.NewSealer(ab, a.signs, to)
	require.NoError(t, err)
	_, err = s.Seal(at(9, 0), nil)
	require.ErrorIs(t, err, seal.Malformed)
	_, err = s.Seal(at(10, 0), []byte("x"))
	require.ErrorIs(t, err, seal.Expired)
	s, err = seal.NewSealer(ab, a.opens, b.signs.PublicKey)
	require.NoError(t, err)
	_, err = s.Seal(at(9, 0), []byte("x"))
	require.ErrorIs(t, err, seal.WrongUse)
	_, err = seal.NewSealer(ab, seal.PrivateKey{}, b.opens.PublicKey)
	require.ErrorIs(t, err, seal.UnknownKey)
}

// Whatever bit is flipped, in whatever part of the signature or of what is signed, the message does not open; the whole one does afterwards.
func TestEachFlippedBitIsFound(t *testing.T) {
	a, b := newParty(t, "sim-a"), newParty(t, "sim-b")
	text := sealAll(t, ab, a, b, "state of the ball")[0]
	o := seal.NewOpener(ab, b.opens, publish(a, b).lookup, seal.Limits{})
	outer := strings.Split(text, ".")
	payload, err := base64.RawURLEncoding.DecodeString(outer[1])
	require.NoError(t, err)
	inner := strings.Split(string(payload), ".")
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"JWS header", "signature", "JWE header", "iv", "ciphertext", "tag"}).Draw(t, "part")
		flip := func(text string) string {
			raw, err := base64.RawURLEncoding.DecodeString(text)
			require.NoError(t, err)
			raw[rapid.IntRange(0, len(raw)-1).Draw(t, "byte")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			return base64.RawURLEncoding.EncodeToString(raw)
		}
		out, in := append([]string{}, outer...), append([]string{}, inner...)
		switch part {
		case "JWS header":
			out[0] = flip(out[0])
		case "signature":
			out[2] = flip(out[2])
		default:
			i := map[string]int{"JWE header": 0, "iv": 2, "ciphertext": 3, "tag": 4}[part]
			in[i] = flip(in[i])
			out[1] = base64.RawURLEncoding.EncodeToString([]byte(strings.Join(in, ".")))
		}
		_, err := o.Open(100, []byte(strings.Join(out, ".")))
		if part == "JWS header" {
			require.Error(t, err) // its JSON, its algorithm or its key is another
		} else {
			require.ErrorIs(t, err, seal.Altered, part)
		}
	})
	_, err = o.Open(100, []byte(text))
	require.NoError(t, err)
}

// What happens to the order of messages is what a plain list of what was opened says, however many payloads each has.
func TestOrderIsThatOfAPlainList(t *testing.T) {
	a, b := newParty(t, "sim-a"), newParty(t, "sim-b")
	s := newSealer(t, ab, a, b)
	type sealed struct {
		text        string
		first, last int
	}
	var texts []sealed
	for i := range 70 {
		size := []int{1, 1, 1, 1, 2, 3, 20}[i%7]
		first := 1
		if i > 0 {
			first = texts[i-1].last + 1
		}
		texts = append(texts, sealed{together(t, s, 10, strings.Split(strings.Repeat("x", size), "")...), first, first + size - 1})
	}
	rapid.Check(t, func(t *rapid.T) {
		o := seal.NewOpener(ab, b.opens, publish(a, b).lookup, seal.Limits{})
		opened, last := map[int]bool{}, 0
		begin := rapid.IntRange(0, len(texts)-1).Draw(t, "begin")
		near := rapid.IntRange(begin, min(begin+12, len(texts)-1))
		for _, i := range rapid.SliceOfN(near, 1, 6).Draw(t, "arrivals") {
			m := texts[i]
			all, err := o.OpenAll(1000, []byte(m.text))
			switch {
			case m.first > last:
				require.NoError(t, err)
				require.Len(t, all, m.last-m.first+1)
				for k := range all {
					require.Equal(t, seal.Message{Sequence: uint64(m.first + k), At: at(10, 0), Payload: []byte("x")}, all[k])
				}
				opened[m.first], last = true, m.last
			case opened[m.first] || last-m.first >= 64:
				require.ErrorIs(t, err, seal.Replayed)
			default:
				require.ErrorIs(t, err, seal.Reordered)
			}
		}
	})
}
