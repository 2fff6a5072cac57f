package federates

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/federates/catalog"
	"metasim/federates/follower/frames"
)

// seen is a world whose camera rides on a ball that the wind drives, and whose picture has noise. A system makes balls and takes them away. Each ball begins in a level of its own,
// and one comes to the other's.
const seenWorld = `<sdf version="1.9"><world name="seen">
	<physics name="5ms" type="ignored"><max_step_size>0.005</max_step_size></physics>
	<scene><ambient>0.3 0.3 0.3 1</ambient><background>0.5 0.7 1 1</background></scene>
	<plugin filename="gz-sim-physics-system" name="gz::sim::systems::Physics"/>
	<plugin filename="gz-sim-sensors-system" name="gz::sim::systems::Sensors"/>
	<plugin filename="metasim" name="metasim::systems::Wind"><velocity>4 -9 0</velocity><drag>2</drag></plugin>
	<plugin filename="metasim" name="metasim::systems::Odometer"/>
	<plugin filename="metasim" name="metasim::systems::Spawner"><position>2 0 3</position><velocity>1 0 0</velocity><period>7</period><life>20</life></plugin>
	<light name="sun" type="directional"><cast_shadows>true</cast_shadows><diffuse>1 1 1 1</diffuse><specular>0.5 0.5 0.5 1</specular><direction>-0.5 0.1 -0.9</direction></light>
	<model name="ground"><static>true</static><link name="l">
		<collision name="c"><geometry><plane><normal>0 0 1</normal><size>9 9</size></plane></geometry></collision>
		<visual name="v"><geometry><plane><normal>0 0 1</normal><size>9 9</size></plane></geometry>
			<material><ambient>0.5 0.6 0.5 1</ambient><diffuse>0.5 0.7 0.5 1</diffuse></material></visual></link></model>
	<model name="ball"><pose>2 0 1 0 0 0</pose><link name="l"><collision name="c"><geometry><sphere><radius>0.4</radius></sphere></geometry></collision>
		<visual name="v"><geometry><sphere><radius>0.4</radius></sphere></geometry>
			<material><ambient>0.8 0.1 0.1 1</ambient><diffuse>0.9 0.1 0.1 1</diffuse><specular>0.8 0.8 0.8 1</specular></material></visual></link></model>
	<model name="rider"><pose>-2 0.3 1.5 0 0.2 0</pose><link name="l"><collision name="c"><geometry><sphere><radius>0.2</radius></sphere></geometry></collision>
		<sensor name="eye" type="camera"><topic>/eye</topic><update_rate>50</update_rate><camera><horizontal_fov>1.2</horizontal_fov>
			<image><width>60</width><height>40</height></image><clip><near>0.1</near><far>50</far></clip>
			<noise><type>gaussian</type><mean>0</mean><stddev>0.02</stddev></noise></camera></sensor></link></model>
	<plugin filename="dummy" name="gz::sim">
		<performer name="b"><ref>ball</ref><geometry><box><size>1 1 1</size></box></geometry></performer>
		<performer name="r"><ref>rider</ref><geometry><box><size>1 1 1</size></box></geometry></performer>
		<level name="west"><pose>-12 0 0 0 0 0</pose><geometry><box><size>20 40 40</size></box></geometry><buffer>2</buffer></level>
		<level name="east"><pose>8 0 0 0 0 0</pose><geometry><box><size>20 40 40</size></box></geometry><buffer>2</buffer></level>
	</plugin>
</world></sdf>`

// quarters are the streams of four nodes that show the quarters of the world's camera, which are no multiples of anything.
var quarters = []any{
	map[string]any{"node": "node-0", "camera": "/eye", "clip": []any{0, 0, 37, 23}}, map[string]any{"node": "node-1", "camera": "/eye", "clip": []any{37, 0, 60, 23}},
	map[string]any{"node": "node-2", "camera": "/eye", "clip": []any{0, 23, 37, 40}}, map[string]any{"node": "node-3", "camera": "/eye", "clip": []any{37, 23, 60, 40}},
}

// ofWorld makes the client of the world.
func ofWorld(t *testing.T, with map[string]any) part {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "seen.sdf"), []byte(seenWorld), 0o600))
	with["file"], with["iterations"], with["policy"] = "seen.sdf", 60, "gz"
	return part{name: "world", model: "world", with: with, env: catalog.Env{Dir: dir, Open: openBelow(dir)}}
}

// The cross test. The world alone draws what its camera sees. The same world, its models moved by clients of their own, its systems in others, is shown by
// four nodes, each with a quarter of that camera: what they make together is the same picture, byte by byte, before the controller fails and after it.
func TestWhatFollowersShowIsWhatTheCameraSaw(t *testing.T) {
	var pictures [][]byte
	_, seen := testRun{parts: []part{ofWorld(t, map[string]any{"topics": []any{"/eye"}, "hashes": true}),
		{name: "ear", model: "sink", with: map[string]any{"channels": []any{"/eye", "world/hash"}}}}}.mustRun(t)
	var hashes []string
	for _, s := range seen {
		if s.Channel == "/eye" {
			pictures = append(pictures, s.Payload)
		} else {
			hashes = append(hashes, hex.EncodeToString(s.Payload[8:]))
		}
	}
	require.Len(t, pictures, 16, "one at the first step, and one each 20 ms")
	systems := []string{"wind", "odometer", "spawner"}
	for _, c := range []struct {
		runners, systems int // clients that move models, and systems in runtimes
		fail             string
	}{
		{0, 0, ""}, {0, 0, "before"}, {0, 0, "half-way"}, {0, 0, "after"}, {0, 2, ""}, {0, 3, ""}, {0, 3, "half-way"},
		{1, 0, ""}, {2, 0, "before"}, {2, 2, "half-way"}, {3, 3, "after"},
	} {
		t.Run(fmt.Sprintf("%d runners, %d systems in runtimes, fails: %s", c.runners, c.systems, c.fail), func(t *testing.T) {
			fail, moved := c.fail, []any{}
			world := ofWorld(t, map[string]any{"states": true})
			var remote []any
			s := testRun{parts: []part{{name: "director", model: "director",
				with: map[string]any{"frame_rate": 50, "frames": 15, "streams": quarters, "wholes": "wall", "patience": "15ms"}},
				{name: "page", model: "sink", with: map[string]any{"channels": []any{"wall"}}}}}
			for i := range c.runners {
				name := fmt.Sprintf("runner-%d", i)
				moved = append(moved, name)
				s.parts = append(s.parts, part{name: name, model: "world-secondary"})
			}
			if c.runners > 0 {
				world.with["secondaries"] = moved
			}
			for _, name := range systems[:c.systems] {
				remote = append(remote, name)
				s.parts = append(s.parts, part{name: name, model: "lockstep-runtime"})
			}
			if c.systems > 0 {
				world.with["remote"] = remote
			}
			s.parts = append(s.parts, world)
			for i, role := range []string{"controller", "understudy", "understudy", "follower"} {
				with := map[string]any{"role": role, "order": i, "world": "world"}
				if fail != "" && i == 0 {
					with["fail_at"], with["fail"] = 7, fail
				}
				s.parts = append(s.parts, part{name: fmt.Sprintf("node-%d", i), model: "render-node", with: with})
			}
			results, seen := s.mustRun(t)
			d := resultOf[directed](t, results, "director")
			require.EqualValues(t, 15, d.Frames)
			require.Equal(t, fail != "", d.Failovers == 1)
			compared := 0
			for _, s := range seen {
				if s.to != "page" {
					continue
				}
				w, err := frames.ReadWhole(s.Payload)
				require.NoError(t, err)
				require.False(t, w.Torn)
				compared += looksLike(t, w, pictures, hashes, fail != "" && w.Frame >= 7)
			}
			assert.Equal(t, 14, compared)
		})
	}
}

// nodesOf is a world that one node shows, with these streams.
func nodesOf(t *testing.T, world string, streams ...any) testRun {
	w := ofWorld(t, map[string]any{"states": true})
	require.NoError(t, os.WriteFile(filepath.Join(w.env.Dir, "seen.sdf"), []byte(world), 0o600))
	return testRun{parts: []part{w, {name: "page", model: "sink", with: map[string]any{"channels": []any{"wall"}}},
		{name: "director", model: "director", with: map[string]any{"frame_rate": 50, "frames": 2, "streams": streams, "wholes": "wall"}},
		{name: "node", model: "render-node", with: map[string]any{"role": "controller", "world": "world"}}}}
}

// A node may have several streams. A camera that stands where one of the world does sees the same: until that one moves.
func TestACameraOfItsOwn(t *testing.T) {
	_, seen := nodesOf(t, strings.Replace(seenWorld, "0.02</stddev>", "0</stddev>", 1), map[string]any{"node": "node", "camera": "/eye", "clip": []any{5, 10, 60, 40}},
		map[string]any{"node": "node", "pose": []any{-2, 0.3, 1.5, 0, 0.2, 0}, "fov": 1.2, "size": []any{60, 40}, "clip": []any{5, 10, 60, 40}, "far": 50}).mustRun(t)
	shown := 0
	for _, s := range seen {
		if s.to == "page" {
			w, err := frames.ReadWhole(s.Payload)
			require.NoError(t, err)
			require.Len(t, w.Parts[0].Pictures, 2)
			assert.Equal(t, w.Frame == 0, bytes.Equal(w.Parts[0].Pictures[0], w.Parts[0].Pictures[1]), "frame %d", w.Frame)
			shown++
		}
	}
	assert.Equal(t, 2, shown)
}

// A stream that can show nothing ends the run with a sentence that says what to write.
func TestStreamsThatShowNothing(t *testing.T) {
	for want, stream := range map[string]map[string]any{
		`the world has no camera with the topic /nose; it has ["/eye"]`: {"node": "node", "camera": "/nose", "clip": []any{0, 0, 1, 1}},
		"stream door shows the rectangle (0,0)-(61,40), and the picture of its camera has 60 x 40 pixels; write a clip that lies in it": {
			"node": "node", "name": "door", "camera": "/eye", "clip": []any{0, 0, 61, 40}},
		"stream 1 of the director, for node node, shows the rectangle (0,0)-(0,0), which has no pixels": {"node": "node", "camera": "/eye"},
		"node left has not said hello for 1s; is its director named as this one?":                       {"node": "left", "camera": "/eye", "clip": []any{0, 0, 1, 1}},
	} {
		_, _, err := nodesOf(t, seenWorld, stream).run(t)
		require.ErrorContains(t, err, want)
	}
	_, err := catalog.Make("render-node", map[string]any{"world": "world", "parts": 4}, catalog.Env{Name: "n"})
	assert.EqualError(t, err, "model render-node: world is written, and parts too; write one of them: a node shows a world, or the scene of the demo")
	_, err = catalog.Make("director", map[string]any{"streams": []any{map[string]any{"node": "a", "angle": 1}}}, catalog.Env{Name: "d"})
	assert.ErrorContains(t, err, `not a list of streams, each with its node; write for example streams: [{node: left, camera: /eye, clip: [0, 0, 320, 240]}]`)
}

// looksLike holds a frame against the picture that the camera of the world made, and the hash of its state at that step: the first frame is before the first step.
func looksLike(t *testing.T, w *frames.Whole, pictures [][]byte, hashes []string, failed bool) int {
	if w.Frame == 0 {
		return 0
	}
	require.Equal(t, hashes[4*w.Frame-1], hex.EncodeToString(w.Parts[1].State[:]), "what is shown is the state of the world at that step")
	whole, err := w.Compose()
	require.NoError(t, err)
	if !failed {
		var b bytes.Buffer
		require.NoError(t, png.Encode(&b, whole))
		require.Equal(t, pictures[w.Frame], b.Bytes(), "frame %d", w.Frame)
		return 1
	}
	want, err := png.Decode(bytes.NewReader(pictures[w.Frame]))
	require.NoError(t, err)
	for i, q := range w.Parts {
		require.Equal(t, i != 0, len(q.Pictures) == 1, "the node that has failed shows nothing")
		if i == 0 {
			draw.Draw(whole, image.Rect(0, 0, 37, 23), want, image.Point{}, draw.Src)
		}
	}
	require.Equal(t, want.(*image.RGBA).Pix, whole.Pix, "frame %d, beside the part of that node", w.Frame)
	return 1
}
