package live

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/federates/authority/seal"
	"metasim/federates/authority/transfer"
	"metasim/metasim"
	"metasim/wire/transport/quic"
)

// A signing server is b, which says to a what it likes, signed by itself.
type signing struct {
	t      *testing.T
	key    seal.PrivateKey
	to     seal.PublicKey // of a
	sealer *seal.Sealer
	post   *quic.Post
}

func (b *signing) say(m transfer.Message) {
	b.t.Helper()
	text, err := b.sealer.Seal(metasim.At(metasim.Time(time.Now().UnixNano())), encoded(b.t, m))
	require.NoError(b.t, err)
	require.NoError(b.t, b.post.Send(b.t.Context(), pack("b", text...)))
}

func newSigning(t *testing.T) (b *signing, a *hosted, stub *homeStub) {
	own, err := seal.NewPrivateKey("")
	require.NoError(t, err)
	a, to, stub := hostAtHome(t, own.PublicKey)
	sealer, err := seal.NewSealer(seal.Link{Instance: "east", Sender: "b", Recipient: "a", Channel: transferChannel}, own, to)
	require.NoError(t, err)
	return &signing{t, own, to, sealer, a.dial()}, a, stub
}

// A handover is taken with the grant of the homeserver that keeps the entity, and with no other text. Another homeserver of the same tree may have signed it. While the homeserver is not there,
// what it has said counts: its keys are known, and what is handed over for the first time is taken when it is said again.
func TestHandoversAreProven(t *testing.T) {
	b, a, stub := newSigning(t)
	says := func(entity string, epoch transfer.Sequence, proof string) transfer.Message {
		m := handover(entity, epoch)
		m.Proof = proof
		return m
	}
	takes := func(m transfer.Message) {
		t.Helper()
		n := a.told()
		b.say(m)
		a.until(n, func(e Event) bool { return e.Event == "got" && e.Entity == m.Entity && e.Epoch == m.Epoch })
	}
	refused := func(m transfer.Message, want string) Event {
		t.Helper()
		n := a.told()
		require.Eventually(t, func() bool { // at first it may be doubted: it has just failed to prove something
			b.say(m)
			return a.count(func(e Event) bool { return strings.Contains(e.Error, want) }) > 0
		}, 20*time.Second, 20*time.Millisecond)
		return a.refuses(n, want)
	}
	takes(says("ball", 1, stub.proof("ball", 1, "b")))

	other, err := seal.NewPrivateKey("sig")
	require.NoError(t, err)
	forged, err := other.Sign(seal.Grant{Instance: "east", Entity: "ball", Epoch: 2, From: "b", To: "a"})
	require.NoError(t, err)
	for _, c := range []struct{ proof, want string }{
		{"", "it has no grant"},
		{"x.y.z", "malformed: it"},
		{stub.proof("ball", 1, "b"), "wrong grant: it"},
		{stub.proof("box", 2, "b"), "wrong grant: it"},
		{stub.proof("ball", 2, "c"), "wrong grant: it"},
		{forged, "unknown key: key"},
	} {
		e := refused(says("ball", 2, c.proof), c.want)
		require.Equal(t, transfer.Unproven, e.Reason)
		require.Equal(t, "b", e.From)
		require.Equal(t, transfer.Handover, e.Heard.Kind)
		require.Equal(t, []string{"ball"}, a.owns())
	}

	stub.set(true) // down
	takes(says("ball", 2, stub.proof("ball", 2, "b")))
	stub.renew()
	refused(says("ball", 3, stub.proof("ball", 3, "b")), "status 503")
	stub.set(false)
	require.Eventually(t, func() bool { // said again, as what was not acknowledged is
		b.say(says("ball", 3, stub.proof("ball", 3, "b")))
		return a.count(func(e Event) bool { return e.Event == "got" && e.Epoch == 3 }) == 1
	}, time.Minute, 20*time.Millisecond)
	refused(says("old", 0, stub.proof("old", 0, "b")), "the grant is an old one") // the homeserver has the epoch 1
}

// Who hands over what it cannot prove, again and again, does not have its recipient ask the homeserver each time.
func TestUnprovenHandoversAskSeldom(t *testing.T) {
	b, a, stub := newSigning(t)
	began, before := time.Now(), stub.set(false)
	for i := range 200 {
		m := handover("ball", transfer.Sequence(i+2))
		other, err := seal.NewPrivateKey("sig")
		require.NoError(t, err)
		m.Proof, err = other.Sign(seal.Grant{Instance: "east", Entity: "ball", Epoch: uint16(m.Epoch), From: "b", To: "a"})
		require.NoError(t, err)
		b.say(m)
	}
	require.Eventually(t, func() bool {
		return a.count(func(e Event) bool { return e.Reason == transfer.Unproven }) == 200
	}, time.Minute, time.Millisecond)
	require.LessOrEqual(t, stub.set(false)-before, 2+2*int(time.Since(began)/freshFor))
	require.Empty(t, a.owns())
}

// A key that an admin has removed counts for a minute at most, unless the homeserver does not answer.
func TestRemovedKeysCountNoMore(t *testing.T) {
	_, _, stub := newSigning(t)
	home := httptest.NewServer(stub)
	t.Cleanup(home.Close)
	h, err := newHomeLink(&Config{Name: "a", Home: &Home{Name: "home", At: home.URL, Token: "x", Instance: "east"}}, "", nil)
	require.NoError(t, err)
	m := handover("ball", 1)
	m.Proof = stub.proof("ball", 1, "b")
	prove := func() error {
		_, err := h.prove(t.Context(), h.opening("b"), "b", &m)
		return err
	}
	age := func() {
		k := h.trusted["ball"]
		k.at = k.at.Add(-trustFor)
		h.trusted["ball"] = k
	}
	require.NoError(t, prove())
	stub.renew()
	require.NoError(t, prove())
	stub.set(true) // down
	age()
	require.NoError(t, prove())
	stub.set(false)
	require.NoError(t, prove())
	age()
	require.ErrorContains(t, prove(), "unknown key")
}

// count returns how many events there were of a kind.
func (h *hosted) count(is func(Event) bool) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, e := range h.events {
		if is(e) {
			n++
		}
	}
	return n
}
