package owners

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/federates/authority/shard"
)

// The page has each server's last picture, and counts owners that changed: not the first that is heard of an entity, nor the same owner again.
func TestPageFollowsOwners(t *testing.T) {
	p := New()
	says := func(server string, ns int64, entities ...string) {
		picture := map[string]any{"server": server, "ns": ns}
		owns := []shard.Shown{}
		for _, e := range entities {
			owns = append(owns, shard.Shown{Entity: e})
		}
		picture["owns"] = owns
		text, err := json.Marshal(picture)
		require.NoError(t, err)
		_, _, changed, err := p.look()
		require.NoError(t, err)
		require.NoError(t, p.take(client.Message{From: server, Payload: text}))
		select {
		case <-changed:
		default:
			t.Fatal("who looks is not told")
		}
	}
	sees := func(moved int) map[string]int {
		text, last, _, err := p.look()
		require.NoError(t, err)
		require.False(t, last)
		var got struct {
			NS      int64
			Moved   int
			Servers map[string]struct{ Owns []shard.Shown }
		}
		require.NoError(t, json.Unmarshal(text, &got))
		require.Equal(t, moved, got.Moved)
		owns := map[string]int{}
		for name, s := range got.Servers {
			owns[name] = len(s.Owns)
		}
		return owns
	}
	says("a", 10, "ball", "cube")
	says("b", 10, "disc")
	require.Equal(t, map[string]int{"a": 2, "b": 1}, sees(0))
	says("a", 20, "ball")
	says("b", 20, "disc", "cube")
	require.Equal(t, map[string]int{"a": 1, "b": 2}, sees(1))
	says("b", 30, "disc", "cube")
	sees(1)

	require.ErrorContains(t, p.take(client.Message{From: "c", Payload: []byte("hello")}), `from client "c"`)
	sees(1)
	p.end()
	_, last, _, err := p.look()
	require.NoError(t, err)
	require.True(t, last)
}

// The page and its parts are served, and nothing else.
func TestPageIsServed(t *testing.T) {
	h := New().Handler()
	for path, want := range map[string]int{"/": 200, "/owners.css": 200, "/owners.js": 200, "/nothing": 404} {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		require.Equal(t, want, rec.Code, path)
		if want == 200 {
			require.NotEmpty(t, rec.Body.String())
			require.NotEmpty(t, rec.Header().Get("Content-Security-Policy"))
		}
	}
}
