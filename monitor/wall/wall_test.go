package wall

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/client/clienttest"
	"metasim/federates/catalog"
	"metasim/federates/follower"
	"metasim/metasim"
)

type run func(context.Context, *client.Client, *catalog.Instance, []*client.Publication) error

// model is a built-in model, as a simulator of a test.
func model(t *testing.T, name, of string, with map[string]any, run run) clienttest.Simulator {
	return clienttest.Simulator{Name: name, Run: func(ctx context.Context, options ...client.Option) error {
		in, err := catalog.Make(of, with, catalog.Env{Name: name, Seed: 1})
		require.NoError(t, err)
		b := client.NewBuilder(name)
		var out []*client.Publication
		for _, channel := range in.Ports.Publications {
			out = append(out, b.Publication(channel))
		}
		for _, pattern := range in.Ports.Subscriptions {
			require.NoError(t, b.Subscribe(pattern, nil))
		}
		c, err := b.Complete(ctx, options...)
		if err != nil {
			return err
		}
		return run(ctx, c, in, out)
	}}
}

// ask sends a request to a wall.
func ask(t *testing.T, w *Wall, method, path, body string) (status int, text string) {
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	answer := httptest.NewRecorder()
	w.Handler().ServeHTTP(answer, r)
	b, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer.Code, string(b)
}

// cluster runs two nodes of the demo for a second, with a wall on which these commands were clicked before, and returns the last frame.
func cluster(t *testing.T, w *Wall, clicks ...string) shown { return clusterOf(t, w, 1, clicks...) }

// clusterOf is cluster where the nodes are asked for pictures in one frame of so many.
func clusterOf(t *testing.T, w *Wall, every int, clicks ...string) shown {
	for _, c := range clicks {
		path := "/command"
		if strings.Contains(c, `"x"`) {
			path = "/touch"
		}
		status, text := ask(t, w, http.MethodPost, path, c)
		require.Equal(t, http.StatusNoContent, status, text)
	}
	direct := map[string]any{"frame_rate": 20, "wholes": Wholes, "commands": Commands, "inputs": []any{Touches}, "patience": "200ms", "pictures_every": every, "streams": []any{
		map[string]any{"node": "a", "clip": []any{0, 0, 40, 30}}, map[string]any{"node": "b", "clip": []any{40, 0, 80, 30}}}}
	node := func(name, role string) clienttest.Simulator {
		return model(t, name, "render-node", map[string]any{"role": role, "parts": 2, "state_bytes": 20000, "commands": Commands}, follower.RenderNode)
	}
	clienttest.Run(t, clienttest.World{Until: metasim.Second}, model(t, "director", "director", direct, follower.Director), node("a", "controller"), node("b", "understudy"),
		clienttest.Simulator{Name: Client, Run: w.takePart})
	status, text := ask(t, w, http.MethodGet, "/events", "")
	require.Equal(t, http.StatusOK, status)
	var last shown
	_, data, found := strings.Cut(text, "data: ")
	require.True(t, found, text)
	require.NoError(t, json.Unmarshal([]byte(data), &last))
	require.True(t, last.Over)
	return last
}

// What the nodes show comes to the page whole: each part at its place, with the state of the frame.
func TestFramesReachThePage(t *testing.T) {
	last := cluster(t, New([]string{"a", "b"}, true))
	assert.EqualValues(t, 20, last.Frames)
	assert.Zero(t, last.TornFrames)
	assert.False(t, last.Torn)
	assert.True(t, last.Sync)
	assert.Equal(t, "a", last.Controller)
	require.Len(t, last.Parts, 2)
	assert.Equal(t, last.Parts[0].State, last.Parts[1].State)
	assert.Len(t, last.Parts[0].State, 8)
	assert.Equal(t, [4]int{40, 0, 80, 30}, last.Parts[1].Clip)
	for _, p := range last.Parts {
		require.Len(t, p.Pictures, 1)
		assert.Equal(t, "\x89PNG", string(p.Pictures[0][:4]))
	}
}

// A node of the demo draws each tenth frame although nobody asks for it, for the files that the demo writes. The page leaves these pictures out: they have no place in the whole.
func TestPicturesWithoutAPlaceAreNotShown(t *testing.T) {
	last := clusterOf(t, New([]string{"a", "b"}, true), 20)
	assert.EqualValues(t, 20, last.Frames)
	assert.Zero(t, last.Frame, "and not 10")
	assert.Equal(t, [4]int{40, 0, 80, 30}, last.Parts[1].Clip)
}

// What is clicked acts in the run.
func TestClicksActInTheRun(t *testing.T) {
	torn := cluster(t, New([]string{"a", "b"}, true), `{"sync": false}`)
	assert.EqualValues(t, 19, torn.TornFrames, "all but the first")
	assert.True(t, torn.Torn)
	assert.False(t, torn.Sync)
	assert.NotEqual(t, torn.Parts[0].State, torn.Parts[1].State)

	slow := cluster(t, New([]string{"a", "b"}, true), `{"node": "b", "load": "100ms"}`)
	assert.EqualValues(t, 10, slow.Frames, "of 20")
	assert.Zero(t, slow.TornFrames)

	failed := cluster(t, New([]string{"a", "b"}, true), `{"node": "a", "fail": true}`)
	assert.Equal(t, "b", failed.Controller)
	assert.Empty(t, failed.Parts[0].State)
	assert.Empty(t, failed.Parts[0].Pictures)
	assert.Equal(t, [4]int{0, 0, 40, 30}, failed.Parts[0].Clip, "its place stays empty")
	assert.NotEmpty(t, failed.Parts[1].Pictures)

	touched := cluster(t, New([]string{"a", "b"}, true), `{"x": 20, "y": 15}`, `{"x": 60, "y": 15}`)
	assert.Equal(t, 2, touched.Inputs)
	assert.EqualValues(t, 1, touched.InputAt, "both in one frame, at all nodes")
	assert.Zero(t, touched.TornFrames)
}

// The nodes leave when the page says so, the controller last, and then the page, long before the end of the run. It can say so twice.
func TestThePageEndsTheCluster(t *testing.T) {
	w := New([]string{"a", "b"}, true)
	quit := cluster(t, w, `{"quit": true}`, `{"quit": true}`)
	assert.EqualValues(t, 1, quit.Frames, "of 20")
	assert.True(t, quit.Quits)
	status, text := ask(t, w, http.MethodPost, "/command", `{"sync": true}`)
	assert.Equal(t, http.StatusConflict, status)
	assert.Contains(t, text, "the run is over")
	status, text = ask(t, New(nil, false), http.MethodPost, "/command", `{"quit": true}`)
	assert.Equal(t, http.StatusConflict, status)
	assert.Contains(t, text, "the run would go on without them; end it on its own page")
}

// What makes no sense is refused where it is clicked: the run would end because of it.
func TestWrongClicks(t *testing.T) {
	w := New([]string{"a", "b"}, true)
	for want, body := range map[string]string{
		"there is no node c":                 `{"node": "c", "fail": true}`,
		"a command that says nothing":        `{}`,
		"a load or a failure without a node": `{"load": "5ms"}`,
		"the load: ":                         `{"node": "a", "load": "much"}`,
		"unknown field":                      `{"nodes": "a"}`,
		"invalid character":                  `sync`,
	} {
		status, text := ask(t, w, http.MethodPost, "/command", body)
		assert.Equal(t, http.StatusConflict, status)
		assert.Contains(t, text, want)
	}
	status, text := ask(t, w, http.MethodPost, "/touch", `{"x": -1}`)
	assert.Equal(t, http.StatusConflict, status)
	assert.Contains(t, text, "cannot unmarshal number -1")
	for range mostClicks {
		require.NoError(t, w.click(click{channel: Touches}))
	}
	assert.EqualError(t, w.click(click{channel: Touches}), fmt.Sprintf("%d clicks wait for the run; is it paused?", mostClicks))
	for path, kind := range map[string]string{"/": "text/html", "/wall.js": "text/javascript", "/wall.css": "text/css"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
		answer := httptest.NewRecorder()
		w.Handler().ServeHTTP(answer, r)
		assert.Contains(t, answer.Header().Get("Content-Type"), kind)
		assert.Contains(t, answer.Header().Get("Content-Security-Policy"), "default-src 'none'")
	}
}
