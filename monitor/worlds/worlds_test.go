package worlds

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/federates/levels/worldmap"
	"metasim/metasim"
)

// moving is a frame of a robot that goes to the east, one metre in an iteration.
func moving(l *worldmap.Layout, iteration int) *worldmap.Frame {
	return &worldmap.Frame{Layout: l, Time: metasim.Time(iteration) * metasim.Second, Iteration: uint64(iteration), X: []float64{float64(iteration)}, Y: []float64{0}, Owner: []int{0}, Group: []int{0}}
}

func told(t *testing.T, p *Page) (maps struct {
	Worlds []shown
	Over   bool
}) {
	t.Helper()
	text, last, _, err := p.look()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &maps))
	require.Equal(t, maps.Over, last)
	return maps
}

// However seldom somebody looks, the last map is shown with its trail, and only so much is kept.
func TestThePageShowsTheLastMap(t *testing.T) {
	often, seldom := New([]string{"w/map", "v/map"}), New([]string{"w/map", "v/map"})
	l := &worldmap.Layout{World: "yard", Owners: []string{"a"}, Bodies: []worldmap.Body{{Name: "robot"}}}
	require.Empty(t, told(t, often).Worlds)
	var before *worldmap.Layout
	for i := range 3 * worldmap.TrailFrames {
		if i == 70 {
			l = &worldmap.Layout{World: "yard", Owners: []string{"a", "b"}, Bodies: []worldmap.Body{{Name: "robot"}}}
		}
		b, err := worldmap.Encode(moving(l, i), before)
		require.NoError(t, err)
		before = l
		for _, p := range []*Page{often, seldom} {
			require.NoError(t, p.Observe(0, &metasim.Send{Channel: "w/map", Payload: b}, nil))
			require.NoError(t, p.Observe(0, &metasim.Send{Channel: "w/state", Payload: []byte("x")}, nil))
			require.NoError(t, p.Observe(0, &metasim.Begin{}, nil))
		}
		require.LessOrEqual(t, len(seldom.worlds[0].waiting), mostWaiting)
		told(t, often)
	}
	all := told(t, seldom).Worlds
	require.Len(t, all, 1, "the other one has published nothing")
	assert.Equal(t, "yard", all[0].Name)
	assert.Contains(t, all[0].SVG, "119.000 s, iteration 119")
	assert.Contains(t, all[0].SVG, "<polyline")
	assert.Contains(t, told(t, often).Worlds[0].SVG, "119.000 s, iteration 119")
	seldom.End()
	assert.True(t, told(t, seldom).Over)
}

// What is no map is told on the page, and the run goes on.
func TestWrongMaps(t *testing.T) {
	p := New([]string{"w/map"})
	require.NoError(t, p.Observe(0, &metasim.Send{Channel: "w/map", Payload: []byte("{}")}, nil))
	assert.Equal(t, "w/map: a map whose fields contradict one another; only the world may publish on this channel", told(t, p).Worlds[0].Error)
}

func TestTheHandlerServesThePage(t *testing.T) {
	p := New([]string{"w/map"})
	p.End()
	for path, want := range map[string]string{"/": "maps.js", "/drawing.css": ".map .body", "/base.css": "--card", "/maps.js": "watch(show)", "/stream.js": "watch", "/events": `data: {"over":true,"worlds":[]}`} {
		answer := httptest.NewRecorder()
		p.Handler().ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		assert.Equal(t, http.StatusOK, answer.Code)
		assert.True(t, strings.Contains(answer.Body.String(), want), path)
	}
}
