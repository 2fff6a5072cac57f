package live

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/federates/authority/seal"
	"metasim/federates/authority/transfer"
	"metasim/metasim"
	"metasim/wire/transport/quic"
)

// owns asks a server what it owns.
func (h *hosted) owns() []string {
	h.t.Helper()
	n := h.told()
	h.commands <- Command{}
	return h.until(n, func(e Event) bool { return e.Event == "owns" }).Owns
}

// refuses waits until a server has told of something wrong or late, from the event of that number on.
func (h *hosted) refuses(from int, want string) Event {
	h.t.Helper()
	return h.until(from, func(e Event) bool {
		return (e.Event == "wrong" || e.Event == "late") && strings.Contains(e.Error, want)
	})
}

// dial connects to a server until the test ends.
func (h *hosted) dial() *quic.Post {
	post, err := quic.DialPost(h.t.Context(), h.url, sesame)
	require.NoError(h.t, err)
	h.t.Cleanup(func() { _ = post.Close() }) // the server may have ended it
	return post
}

// handover is a message by which b hands an entity over to a.
func handover(entity string, epoch transfer.Sequence) transfer.Message {
	return transfer.Message{
		Kind: transfer.Handover, Requester: "b", ID: 7, Entity: entity, Owner: "a", Epoch: epoch, State: &transfer.State{Steps: 1}, Confirm: true, Trail: []string{"b"},
	}
}

func encoded(t *testing.T, m transfer.Message) []byte {
	text, err := transfer.Encode(&m)
	require.NoError(t, err)
	return text
}

// What others say that cannot be is told with who has said it, when, and what it asks for, and changes nothing; so is who does not have the token, and who is not reached.
func TestWrongMessagesAreTold(t *testing.T) {
	a := host(t, Config{Name: "a", Own: []string{"ball"}, Peers: map[string]string{"b": filepath.Join(t.TempDir(), "b.url")}})
	e := a.until(0, func(e Event) bool { return e.Event == "unreached" })
	require.Equal(t, "b", e.To)
	require.Contains(t, e.Error, "start b with this --ready-file, or write where it is")

	if stranger, err := quic.DialPost(t.Context(), a.url, "another token"); err == nil { // a handshake may end before the server has looked at the certificate
		defer stranger.Close() // it has ended already
	}
	require.Regexp(t, `^127\.0\.0\.1 is not let in: the certificate`, a.refuses(0, "not let in").Error)

	b := a.dial()
	box := handover("box", 5)
	require.NoError(t, b.Send(t.Context(), pack("b", encoded(t, box)...)))
	a.until(0, func(e Event) bool { return e.Event == "got" && e.Entity == "box" })
	n := a.told()
	require.NoError(t, b.Send(t.Context(), pack("b", encoded(t, box)...)))
	a.until(n, func(e Event) bool { return e.Event == "heard" && e.Entity == "box" }) // the acknowledgement may have been lost

	change := func(change func(*transfer.Message)) []byte {
		m := handover("ball", 1)
		change(&m)
		return pack("b", encoded(t, m)...)
	}
	const late = "b hands box over with the epoch 3, and the epoch 5 is known here"
	for _, c := range []struct {
		want, from string
		asks       transfer.Kind
		bytes      []byte
	}{
		{"1 bytes came without the name of a sender", "", "", []byte{9}},
		{"5 bytes are no message between servers", "b", "", pack("b", []byte("hello")...)},
		{"ends within the entity at byte 1", "b", "", pack("b", sightsDatagram, 200)},
		{"b tells of balls, and this server moves none", "b", "", pack("b", pieceDatagram, 1)},
		{`b sent a message whose trail is ["c"]`, "b", transfer.Handover, change(func(m *transfer.Message) { m.Trail = []string{"c"} })},
		{"2 times", "b", transfer.Handover, change(func(m *transfer.Message) { m.Sent = []int64{1, 2} })},
		{"a simulation server passes nothing on", "b", transfer.Handover, change(func(m *transfer.Message) { m.Route = []string{"c"} })},
		{"it has no state, or is for another server", "b", transfer.Handover, change(func(m *transfer.Message) { m.Owner = "c" })},
		{late, "b", transfer.Handover, change(func(m *transfer.Message) { m.Entity, m.Epoch = "box", 3 })},
		{"only its homeserver says so", "b", transfer.Grant, change(func(m *transfer.Message) { m.Kind, m.Owner, m.State = transfer.Grant, "b", nil })},
		{"only its homeserver says so", "b", transfer.SetRule, change(func(m *transfer.Message) { m.Kind, m.Rule, m.State = transfer.SetRule, transfer.Allow, nil })},
	} {
		n := a.told()
		require.NoError(t, b.Send(t.Context(), c.bytes))
		e := a.refuses(n, c.want)
		require.Equal(t, c.from, e.From)
		require.Equal(t, c.want == late, e.Event == "late")
		require.WithinDuration(t, time.Now(), time.Unix(0, e.NS), time.Minute)
		if c.asks != "" {
			require.Equal(t, c.asks, e.Heard.Kind)
			require.Equal(t, "b", e.Heard.Requester)
		}
		require.Equal(t, []string{"ball", "box"}, a.owns(), c.want)
	}
}

// A homeStub answers as a homeserver does who knows the servers a and b, and all entities: package homeserver is for programs.
type homeStub struct {
	t  *testing.T
	mu sync.Mutex
	is map[string]json.RawMessage // by server: where it is, and its key

	key   seal.PrivateKey // by which it signs grants
	down  bool
	asked int // how often, for who signs grants
}

// proof is the grant by which from hands an entity over to a.
func (h *homeStub) proof(entity string, epoch transfer.Sequence, from string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	signed, err := h.key.Sign(seal.Grant{Instance: "east", Entity: entity, Epoch: uint16(epoch), From: from, To: "a"})
	require.NoError(h.t, err)
	return signed
}

// renew gives it another key.
func (h *homeStub) renew() {
	key, err := seal.NewPrivateKey("sig")
	require.NoError(h.t, err)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.key = key
}

func (h *homeStub) set(down bool) (asked int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.down = down
	return h.asked
}

func (h *homeStub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	defer h.mu.Unlock()
	name := strings.TrimPrefix(r.URL.Path, "/v1/servers/")
	switch {
	case strings.HasSuffix(r.URL.Path, "/signers"):
		h.asked++
		jwk, err := h.key.PublicKey.MarshalJSON()
		if err != nil || h.down {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = w.Write([]byte(`{"owner":"x","epoch":1,"keys":[` + string(jwk) + `]}`)) // likewise
	case r.URL.Path == "/v1/mail":
		_, _ = w.Write([]byte(`{"items":[]}`)) // who asked may have gone
	case r.Method == http.MethodPut:
		var is json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&is); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
		h.is[name] = is
		_, _ = w.Write([]byte(`{"registration":1}`)) // likewise
	default:
		_, _ = w.Write(h.is[name]) // likewise
	}
}

// hostAtHome runs the server a, whose homeserver knows the server b by that key, and returns it with its own.
func hostAtHome(t *testing.T, b seal.PublicKey) (a *hosted, key seal.PublicKey, stub *homeStub) {
	jwk, err := b.MarshalJSON()
	require.NoError(t, err)
	stub = &homeStub{t: t, is: map[string]json.RawMessage{"b": json.RawMessage(`{"url":"quic://127.0.0.1:1","jwk":` + string(jwk) + `}`)}}
	stub.renew()
	home := httptest.NewServer(stub)
	t.Cleanup(home.Close)
	a = host(t, Config{Name: "a", Home: &Home{Name: "home", At: home.URL, Token: "x", Instance: "east"}})
	var is struct{ JWK json.RawMessage }
	require.Eventually(t, func() bool {
		stub.mu.Lock()
		defer stub.mu.Unlock()
		return stub.is["a"] != nil && json.Unmarshal(stub.is["a"], &is) == nil
	}, time.Minute, time.Millisecond)
	key, err = seal.ParsePublicKey(is.JWK)
	require.NoError(t, err)
	key.Owner = "a"
	return a, key, stub
}

// A message that is sealed for another link, comes twice or too early, or is not sealed, is refused with a reason of its own, and changes nothing. Who has a key of its own takes nothing with it that
// only a homeserver gives.
func TestSealedMessagesAreChecked(t *testing.T) {
	own, err := seal.NewPrivateKey("")
	require.NoError(t, err)
	other, err := seal.NewPrivateKey("")
	require.NoError(t, err)
	a, to, stub := hostAtHome(t, own.PublicKey)
	link := seal.Link{Instance: "east", Sender: "b", Recipient: "a", Channel: transferChannel}
	number := 0
	sealed := func(l seal.Link, with seal.PrivateKey, ahead time.Duration, m transfer.Message) []byte {
		sealer, err := seal.NewSealer(l, with, to)
		require.NoError(t, err)
		number++
		var last []byte
		for range number { // none has the sequence number of another
			last, err = sealer.Seal(metasim.At(metasim.Time(time.Now().Add(ahead).UnixNano())), encoded(t, m))
			require.NoError(t, err)
		}
		return pack("b", last...)
	}
	b := a.dial()
	proven := handover("ball", 1)
	proven.Proof = stub.proof("ball", 1, "b")
	good := sealed(link, own, 0, proven)
	require.NoError(t, b.Send(t.Context(), good))
	require.True(t, a.until(0, func(e Event) bool { return e.Event == "heard" && e.Entity == "ball" }).Heard.Sealed)

	changed := func(change func(*seal.Link)) seal.Link {
		l := link
		change(&l)
		return l
	}
	grant := transfer.Message{Kind: transfer.Grant, Requester: "b", ID: 1, Entity: "ball", Owner: "b", Epoch: 2, Trail: []string{"b"}}
	flipped := append([]byte(nil), good...)
	if at := len(flipped) - 20; flipped[at] == 'A' { // within the signature
		flipped[at] = 'B'
	} else {
		flipped[at] = 'A'
	}
	for _, c := range []struct {
		want  string
		bytes []byte
	}{
		{"what b says is not signed by it", pack("b", encoded(t, handover("box", 1))...)},
		{"(replayed)", good},
		{"(altered)", flipped},
		{"(malformed)", pack("b", []byte("x.y.z")...)},
		{"(wrong instance)", sealed(changed(func(l *seal.Link) { l.Instance = "west" }), own, 0, handover("box", 1))},
		{"(wrong channel)", sealed(changed(func(l *seal.Link) { l.Channel = "world" }), own, 0, handover("box", 1))},
		{"(wrong recipient)", sealed(changed(func(l *seal.Link) { l.Recipient = "c" }), own, 0, handover("box", 1))},
		{"(wrong sender)", sealed(changed(func(l *seal.Link) { l.Sender = "c" }), own, 0, handover("box", 1))},
		{"(unknown key)", sealed(link, other, 0, handover("box", 1))},
		{"(from future)", sealed(link, own, time.Hour, handover("box", 1))},
		{"only its homeserver says so", sealed(link, own, time.Second, grant)},
	} {
		n := a.told()
		require.NoError(t, b.Send(t.Context(), c.bytes))
		require.Equal(t, "b", a.refuses(n, c.want).From)
		require.Equal(t, []string{"ball"}, a.owns(), c.want)
	}
}
