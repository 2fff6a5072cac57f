package home

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// A homeserver that is gone for good proves nothing any more once an admin has removed its key. Nobody else does, and no homeserver removes its own.
func TestSignersAreRemoved(t *testing.T) {
	s := newStage(t)
	key, err := NewKey()
	require.NoError(t, err)
	gone, err := New(Config{Instance: "east", Name: "home-x", Key: key})
	require.NoError(t, err)
	commands, err := gone.Publish(s.tree)
	require.NoError(t, err)
	require.NoError(t, s.tree.apply(commands))
	a := s.account("sim-a")
	ask := func(method, path, token string, out any) Response {
		t.Helper()
		r, _ := s.do(Request{Method: method, Path: path, Token: token})
		if out != nil {
			require.Equal(t, 200, r.Status)
			require.NoError(t, json.Unmarshal(r.Body, out))
		}
		return r
	}
	made, _ := s.do(Request{Method: "POST", Path: "/v1/entities", Token: a, Body: []byte(`{"id":"ball"}`)})
	require.Equal(t, 201, made.Status)
	keysOfBall := func() int {
		var all signers
		ask("GET", "/v1/entities/ball/signers", a, &all)
		return len(all.Keys)
	}

	var list struct{ Items []shownSigner }
	ask("GET", "/v1/signers", a, &list)
	require.Len(t, list.Items, 2)
	require.Equal(t, 2, keysOfBall())
	ids := map[string]string{}
	for _, is := range list.Items {
		ids[is.Homeserver] = "/v1/signers/" + is.ID
		var shown shownSigner
		ask("GET", "/v1/signers/"+is.ID, a, &shown)
		require.Equal(t, is, shown)
	}

	for _, c := range []struct{ path, token, want string }{
		{ids["home-x"], a, "forbidden"},
		{ids["home-a"], adminToken, "own-key"},
		{"/v1/signers/none", adminToken, "unknown-key"},
	} {
		r := ask("DELETE", c.path, c.token, nil)
		require.Contains(t, string(r.Body), problemPrefix+c.want)
		require.Equal(t, 2, keysOfBall())
	}
	require.Equal(t, 204, ask("DELETE", ids["home-x"], adminToken, nil).Status)
	require.Equal(t, 1, keysOfBall())
	require.Equal(t, 404, ask("GET", ids["home-x"], a, nil).Status)
}
