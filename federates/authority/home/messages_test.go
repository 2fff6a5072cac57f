package home

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/federates/authority/transfer"
)

const aKey = `{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}`

// account makes an account, and returns its token.
func (s *stage) account(name string) string {
	out, _ := s.do(Request{Method: "POST", Path: "/v1/accounts", Token: adminToken, Body: []byte(`{"name":"` + name + `"}`)})
	require.Equal(s.t, 201, out.Status)
	s.tell(out)
	return s.tokens[name]
}

// The mail of a server that does not fetch it is bounded: when its mailbox is full, more is refused. After the server has fetched its mail, there is room again.
func TestNobodyFillsTheTreeWithMail(t *testing.T) {
	s := newStage(t)
	a := s.account("sim-a")
	b := s.account("home-b")
	out, _ := s.do(Request{Method: "PUT", Path: "/v1/servers/sim-a", Token: a, Body: []byte(`{"url":"quic://x:1","jwk":` + aKey + `}`)})
	require.Equal(t, 200, out.Status)
	say := func(id int) Response {
		text, err := json.Marshal(transfer.Message{Kind: transfer.Ack, Requester: "sim-b", ID: uint64(id), Entity: "ball", Route: []string{"sim-a"}, Trail: []string{"sim-b", "home-b"}})
		require.NoError(t, err)
		out, audit := s.do(Request{Method: "POST", Path: "/v1/messages", Token: b, Body: text})
		require.Equal(t, &Heard{transfer.Ack, "sim-b", uint64(id), "ball", "", 2, []string{"sim-a"}, nil}, audit.Message)
		return out
	}
	for id := range maxMail {
		require.Equal(t, 204, say(id).Status)
	}
	require.Equal(t, 204, say(3).Status, "it is there already")
	out = say(maxMail)
	require.Equal(t, 409, out.Status)
	require.Contains(t, string(out.Body), "mailbox-full")
	out, _ = s.do(Request{Method: "DELETE", Path: fmt.Sprintf("/v1/mail/%d", maxMail-1), Token: a})
	require.Equal(t, 204, out.Status)
	require.Equal(t, 204, say(maxMail).Status)
	letters, _ := s.mail(a)
	require.Len(t, letters, 2)
	require.EqualValues(t, maxMail+1, letters[1].Number, "numbers go on")
}

func (s *stage) mail(token string) ([]letter, Response) {
	out, _ := s.do(Request{Method: "GET", Path: "/v1/mail", Token: token, Query: [][2]string{{"wait", "20"}}})
	var page mailPage
	require.NoError(s.t, json.Unmarshal(out.Body, &page))
	return page.Items, out
}

// What is not here is asked of the next homeserver on the path, once; a homeserver that passes on does so along the route, and nobody else does.
func TestRequestsArePassedOn(t *testing.T) {
	s := newStage(t)
	var err error
	s.server, err = New(Config{Instance: "east", Name: "home-a", Key: aPrivateKey, Homeservers: []string{"hop", "home-z"}, Path: []string{"hop", "home-b"}})
	require.NoError(t, err)
	a, hop := s.account("sim-a"), s.account("hop")
	for _, path := range []string{"/v1/servers/sim-b", "/v1/entities/ball", "/v1/entities/ball/ownership", "/v1/entities/ball/mastership", "/v1/entities/ball/rule", "/v1/entities/ball/signers"} {
		out, commands, _ := s.server.Handle(s.tree, s.now, Request{Method: "GET", Path: path, Token: a})
		require.Empty(t, commands)
		require.Equal(t, &Forward{"hop", []string{"sim-a", "home-a"}, []string{"home-b"}}, out.Forward)
		out, _ = s.do(Request{Method: "GET", Path: path, Token: hop, Trail: []string{"sim-b", "hop"}})
		require.Equal(t, 404, out.Status, "it was passed on already")
	}
	out, _, _ := s.server.Handle(s.tree, s.now, Request{Method: "GET", Path: "/v1/servers/x", Token: hop, Trail: []string{"sim-b", "hop"}, Route: []string{"home-z", "home-y"}})
	require.Equal(t, &Forward{"home-z", []string{"sim-b", "hop", "home-a"}, []string{"home-y"}}, out.Forward)
	for want, r := range map[string]Request{
		"forged-trail":   {Method: "GET", Path: "/v1/servers/x", Token: a, Trail: []string{"sim-a"}, Route: []string{"home-z"}},
		"unknown-server": {Method: "GET", Path: "/v1/servers/x", Token: hop, Trail: []string{"sim-b", "hop"}, Route: []string{"sim-a"}},
		"forbidden":      {Method: "DELETE", Path: "/v1/entities/x", Token: hop, Trail: []string{"sim-b", "hop"}, Route: []string{"home-z"}},
	} {
		out, _ := s.do(r)
		require.Contains(t, string(out.Body), problemPrefix+want)
	}

	// A request for what is not here goes the same way, as a message, and waits for the next homeserver.
	now := int64(s.now)
	for i := range 2 {
		text := fmt.Appendf(nil, `{"kind":"request","requester":"sim-a","id":1,"entity":"ball","owner":"sim-a","epoch":0,"trail":["sim-a"],"sent":[%d]}`, now-7+int64(i))
		out, audit := s.do(Request{Method: "POST", Path: "/v1/messages", Token: a, Body: text})
		require.Equal(t, 204, out.Status)
		require.Equal(t, []int64{7 - int64(i)}, audit.Message.LatencyNS)
	}
	messages, done, err := s.server.Outgoing(s.tree, "hop")
	require.NoError(t, err)
	require.Len(t, messages, 1)
	require.Equal(t, []string{"sim-a", "home-a"}, messages[0].Trail)
	require.Equal(t, []int64{now - 7, now}, messages[0].Sent)
	require.Equal(t, []string{"home-b"}, messages[0].Route)
	require.NoError(t, s.tree.apply(done))
	messages, _, err = s.server.Outgoing(s.tree, "hop")
	require.NoError(t, err)
	require.Empty(t, messages)
	_, out = s.mail(a)
	require.Equal(t, 20, out.Waits)
	require.Equal(t, []string{"sim-a"}, MailFor([]Command{{letterPath("sim-a", 1), []byte("{}"), 0}, {mailPath + "/sim-a", []byte("{}"), 0}, {letterPath("sim-b", 1), nil, 1}, {"/keys/x", []byte("{}"), 0}}))
}

// What a person asks for by hand, with the account of a server, does not change what the server is answered when it says again what it has asked for.
func TestByHandAndByMessage(t *testing.T) {
	s := newStage(t)
	a, b := s.account("sim-a"), s.account("sim-b")
	for name, token := range map[string]string{"sim-a": a, "sim-b": b} {
		out, _ := s.do(Request{Method: "PUT", Path: "/v1/servers/" + name, Token: token, Body: []byte(`{"url":"quic://x:1","jwk":` + aKey + `}`)})
		require.Equal(t, 200, out.Status)
	}
	s.do(Request{Method: "POST", Path: "/v1/entities", Token: b, Body: []byte(`{"id":"ball"}`)})
	ask := func(id string) {
		out, _ := s.do(Request{Method: "POST", Path: "/v1/messages", Token: a, Body: []byte(`{"kind":"request","requester":"sim-a","id":` + id + `,"entity":"ball","owner":"sim-a","epoch":0,"trail":["sim-a"]}`)})
		require.Equal(t, 204, out.Status)
	}
	ask("1")
	out, _ := s.do(Request{Method: "PUT", Path: "/v1/entities/ball/ownership", Token: b, Body: []byte(`{"owner":"sim-b"}`)})
	require.Equal(t, 200, out.Status)
	out, _ = s.do(Request{Method: "PUT", Path: "/v1/entities/ball/ownership", Token: a, Body: []byte(`{"owner":"sim-a"}`)})
	require.Equal(t, 200, out.Status)
	ask("1") // again: the first answer may have been lost
	ask("2")
	letters, _ := s.mail(b)
	require.Len(t, letters, 2)
	require.EqualValues(t, 1, letters[0].Message.ID)
	require.EqualValues(t, 1, letters[0].Message.Epoch)
	require.NotZero(t, letters[1].Message.ID&byHand)
	require.EqualValues(t, 3, letters[1].Message.Epoch)
	letters, _ = s.mail(a)
	require.Equal(t, transfer.Grant, letters[0].Message.Kind, "it is to give it back")
	require.Equal(t, transfer.Refusal, letters[1].Message.Kind)
	require.Equal(t, transfer.Owned, letters[1].Message.Reason)
	require.EqualValues(t, 2, letters[1].Message.ID)
}
