package main

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/federates/authority/live"
	"metasim/federates/authority/seal"
	"metasim/federates/authority/transfer"
	"metasim/metasim"
	"metasim/wire/transport/quic"
)

// A rogue has an account at a homeserver and the token of the world, and says to servers what it likes.
type rogue struct {
	*liveWorld
	home, name string
	token      string
	key        seal.PrivateKey
	sealers    map[string]*seal.Sealer
}

func (w *liveWorld) rogue(home, name string) *rogue {
	w.Helper()
	r := &rogue{w, home, name, w.account(home, name), seal.PrivateKey{}, map[string]*seal.Sealer{}}
	var err error
	r.key, err = seal.NewPrivateKey("")
	require.NoError(w, err)
	jwk, err := r.key.PublicKey.MarshalJSON()
	require.NoError(w, err)
	r.asks("PUT", "/v1/servers/"+name, `{"url":"quic://127.0.0.1:1","jwk":`+string(jwk)+`}`, nil)
	return r
}

// asks asks its homeserver, which does not refuse.
func (r *rogue) asks(method, path, body string, into any) {
	r.Helper()
	status, text := r.askAs(r.token, r.home, method, path, body)
	require.Less(r, status, 300, text)
	if into != nil {
		require.NoError(r, json.Unmarshal([]byte(text), into))
	}
}

// send says something to a server, signed by itself and encrypted to the server.
func (r *rogue) send(to *homedServer, m transfer.Message) {
	r.Helper()
	var is struct {
		URL string
		JWK json.RawMessage
	}
	r.asks("GET", "/v1/servers/"+to.name, "", &is)
	key, err := seal.ParsePublicKey(is.JWK)
	require.NoError(r, err)
	if r.sealers[key.ID] == nil {
		r.sealers[key.ID], err = seal.NewSealer(seal.Link{Instance: "metasim", Sender: r.name, Recipient: to.name, Channel: "transfer"}, r.key, key)
		require.NoError(r, err)
	}
	m.Trail = []string{r.name}
	text, err := transfer.Encode(&m)
	require.NoError(r, err)
	sealed, err := r.sealers[key.ID].Seal(metasim.At(metasim.Time(time.Now().UnixNano())), text)
	require.NoError(r, err)
	post, err := quic.DialPost(r.Context(), is.URL, "sesame")
	require.NoError(r, err)
	require.NoError(r, post.Send(r.Context(), append(append(binary.BigEndian.AppendUint16(nil, uint16(len(r.name))), r.name...), sealed...)))
	r.Cleanup(func() { _ = post.Close() }) // the server may have ended it
}

// refused returns the event of a server that refuses what this one has said.
func (r *rogue) refused(by *homedServer, entity string) (e live.Event) {
	r.Helper()
	r.until("it is refused", func() bool {
		for line := range strings.Lines(by.out.String()) {
			require.NoError(r, json.Unmarshal([]byte(line), &e))
			if e.Event == "got" && e.Entity == entity {
				require.Fail(r, "it is taken", by.out.String())
			}
			if e.Event == "wrong" && e.Entity == entity && e.Heard != nil {
				return true
			}
		}
		return false
	})
	return e
}

func handoverTo(to *homedServer, entity string, epoch transfer.Sequence, proof string) transfer.Message {
	return transfer.Message{
		Kind: transfer.Handover, Requester: "sim-a", ID: 1, Entity: entity, Owner: to.name, Epoch: epoch, State: &transfer.State{Steps: 1, Value: 666}, Confirm: true, Proof: proof,
	}
}

// gives makes the rogue the owner of an entity, and returns the grant by which it hands it to another server.
func (r *rogue) gives(entity string, to *homedServer) transfer.Message {
	r.Helper()
	r.asks("PUT", "/v1/entities/"+entity+"/ownership", `{"owner":"`+to.name+`"}`, nil)
	var mail struct {
		Items []struct{ Message transfer.Message }
	}
	r.asks("GET", "/v1/mail?wait=10", "", &mail)
	require.NotEmpty(r, mail.Items)
	got := mail.Items[len(mail.Items)-1].Message
	require.Equal(r, transfer.Grant, got.Kind)
	return got
}

// An account and the token of the world are not enough to take an entity, or to give one away. Each handover needs a grant that the homeserver of the entity has signed, and no server
// can make a homeserver pass on a grant. Each try is in the events of the server that refused it, or in an audit log. A handover that is granted arrives.
func TestForgedHandovers(t *testing.T) {
	w := newLiveWorld(t, 3, "home-a", "home-b")
	a, b := w.sims[0], w.sims[1]
	r := w.rogue("home-a", "mallory")

	r.send(b, handoverTo(b, "of-sim-a-00", 1000, ""))
	e := r.refused(b, "of-sim-a-00")
	require.Equal(t, transfer.Unproven, e.Reason)
	require.Equal(t, "mallory", e.From)
	require.Contains(t, e.Error, "it has no grant")

	// A homeserver passes on no grant and no handover that a server begins.
	for _, kind := range []transfer.Kind{transfer.Grant, transfer.Handover, transfer.Refusal, transfer.Ack} {
		m := handoverTo(b, "of-sim-a-00", 1, "")
		m.Kind, m.Requester, m.Trail, m.Route = kind, "mallory", []string{"mallory"}, []string{"sim-a"}
		text, err := transfer.Encode(&m)
		require.NoError(t, err)
		status, answer := r.askAs(r.token, "home-a", "POST", "/v1/messages", string(text))
		require.Equal(t, 400, status, answer)
		require.Contains(t, answer, "forged-trail")
	}
	require.Contains(t, string(w.read(filepath.Join("home-a", "audit.log"))), `"outcome":"forged-trail"`)

	// What it owns it may give away, once, and with no other number; what it has owned it may not.
	r.asks("POST", "/v1/entities", `{"id":"box"}`, nil)
	grant := r.gives("box", b)
	forged := handoverTo(b, "box", grant.Epoch+1, grant.Proof)
	r.send(b, forged)
	e = r.refused(b, "box")
	require.Equal(t, transfer.Unproven, e.Reason)
	require.Contains(t, e.Error, "wrong grant: it")
	w.until("what is granted arrives", func() bool { // it says it again, as servers do
		r.send(b, handoverTo(b, "box", grant.Epoch, grant.Proof))
		return slices.Contains(b.owns(), "box")
	})
	b.tell("give box sim-a")
	w.until("it is given on", func() bool { return slices.Contains(a.owns(), "box") })

	// An entity of the same name at another homeserver is not the one that b's homeserver keeps.
	other := w.rogue("home-b", "mallet")
	other.asks("POST", "/v1/entities", `{"id":"of-sim-a-01"}`, nil)
	false1 := other.gives("of-sim-a-01", b)
	other.send(b, handoverTo(b, "of-sim-a-01", false1.Epoch, false1.Proof))
	e = other.refused(b, "of-sim-a-01")
	require.Equal(t, transfer.Unproven, e.Reason)
	require.Contains(t, e.Error, "unknown key: key")

	// b has lost its directory: what the rogue handed to it once is somebody else's now.
	b.kill()
	require.NoError(t, os.RemoveAll(filepath.Join(w.dir, "sim-b")))
	b.own = nil
	b.run()
	w.until("it is back", func() bool { return strings.Contains(b.out.String(), `"ready"`) })
	w.until("it is registered", func() bool { // with its new key
		var is struct{ URL string }
		r.asks("GET", "/v1/servers/sim-b", "", &is)
		return strings.Contains(b.out.String(), is.URL)
	})
	r.send(b, handoverTo(b, "box", grant.Epoch, grant.Proof))
	e = r.refused(b, "box")
	require.Equal(t, transfer.Unproven, e.Reason)
	require.Contains(t, e.Error, "the grant is an old one")

	// Between homeservers, too, what is granted arrives.
	a.tell("give of-sim-a-00 sim-d")
	w.until("it goes to another homeserver's server", func() bool { return slices.Contains(w.sims[3].owns(), "of-sim-a-00") })
	require.NotContains(t, a.owns(), "of-sim-a-00")
}
