package lockstep

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/federates/catalog"
	"metasim/federates/sdf"
	"metasim/metasim"
	"metasim/server"
)

// box is the geometry of a level or a performer.
func box(size string) *sdf.Element {
	return &sdf.Element{Name: "geometry", Children: []*sdf.Element{{Name: "box", Children: []*sdf.Element{element("size", size)}}}}
}

func named(kind, name string, content ...*sdf.Element) *sdf.Element {
	return &sdf.Element{Name: kind, Attributes: []sdf.Attribute{{Name: "name", Value: name}}, Children: content}
}

// withLevels is a world of balls, whose last ball is in a level about the first one.
func withLevels() *sdf.World {
	w := balls(3)
	w.Plugins = append(w.Plugins, &sdf.Plugin{Name: "gz::sim", Content: []*sdf.Element{
		named("level", "start", element("pose", "0 0 1 0 0 0"), box("0.1 0.1 10"), element("ref", "ball002"))}})
	return w
}

// resultOf returns what the world left with.
func resultOf(t *testing.T, w *sdf.World, with map[string]any, more ...part) (r worldResult) {
	t.Helper()
	result, err := runWith(t, w, with, more...)
	require.NoError(t, err)
	readWorldResult(t, result, &r)
	return r
}

func readWorldResult(t *testing.T, result server.Result, r *worldResult) {
	t.Helper()
	for _, c := range result.Clients {
		if c.Name == "world" {
			require.NoError(t, json.Unmarshal(c.Result, r))
		}
	}
}

// A model becomes a performer while the world goes on: the level that it stands in is loaded in the next step. The answer comes when it is true.
func TestAPerformerThatIsAskedFor(t *testing.T) {
	var answers []string
	in := &catalog.Instance{Ports: catalog.Ports{Publications: []string{"world/level/set_performer"}, Subscriptions: []string{"world/level/set_performer/reply"}}}
	asks := part{"asks", in, func(ctx context.Context, c *client.Client, _ *catalog.Instance, out []*client.Publication) error {
		for _, model := range []string{"ball000", "ball009", ""} {
			if err := out[0].Publish([]byte(model)); err != nil {
				return err
			}
			messages, err := c.Step(ctx, c.Now().Time+10*metasim.Millisecond)
			if err != nil {
				return err
			}
			for _, m := range messages {
				answers = append(answers, string(m.Payload))
			}
		}
		return nil
	}}
	r := resultOf(t, withLevels(), map[string]any{"iterations": 20, "policy": "gz", "set_performer": true}, asks)
	require.Len(t, answers, 3)
	assert.Equal(t, `{"model":"ball000","ok":true,"waits":false,"error":""}`, answers[0])
	assert.Equal(t, `{"model":"ball009","ok":false,"waits":true,"error":"the world has no such model yet"}`, answers[1])
	assert.Contains(t, answers[2], "no model is named")
	assert.Equal(t, []runnerResult{{"world", 20, []string{"ball000"}, []string{"start"}}}, r.Runners)
	assert.Equal(t, &levelsResult{"gz", 1, 0}, r.Levels)

	without := resultOf(t, withLevels(), map[string]any{"iterations": 20, "policy": "gz"})
	assert.Equal(t, r.Entities-3, without.Entities, "no performer, no level, no third ball: a model, a link, a shape")
	all := resultOf(t, withLevels(), map[string]any{"iterations": 20})
	assert.Equal(t, r.Entities, all.Entities)
	assert.Nil(t, all.Levels)
}

// After a reset the levels are those of the start.
func TestAResetOfLevels(t *testing.T) {
	w := withLevels()
	w.Plugins[len(w.Plugins)-1].Content = append(w.Plugins[len(w.Plugins)-1].Content, named("performer", "first", element("ref", "ball000"), box("2 2 2")))
	w.Plugins = append(w.Plugins, plugin("Wind", element("velocity", "90 0 0"), element("drag", "40")))
	fresh := resultOf(t, w, map[string]any{"iterations": 10, "policy": "gz"})
	require.Equal(t, &levelsResult{"gz", 0, 1}, fresh.Levels, "the wind blows the ball out of the level")
	again := resultOf(t, w, map[string]any{"iterations": 30, "policy": "gz", "resets": true}, agent(101*metasim.Millisecond))
	assert.Equal(t, fresh.StateHash, again.StateHash)
	assert.Equal(t, fresh.Levels, again.Levels)
}
