package levels

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/federates/ecm"
	"metasim/federates/sdf"
	"metasim/federates/spatial"
	"metasim/federates/world"
	"metasim/internal/problem"
	"metasim/internal/script"
)

// A stage is a world with levels in one server, and a hand that puts models where a script says.
type stage struct {
	t       *testing.T
	server  *world.Server
	system  *System
	hand    *hand
	primary *Primary // nil: nobody else moves models
}

// A hand moves models, before levels are looked at, and sees what is in the world.
type hand struct {
	at    map[string]spatial.Vector
	gone  []string // models that it takes away
	made  []string
	seen  map[string]bool
	names map[ecm.Entity]string
}

func (h *hand) PreUpdate(_ world.Info, v *ecm.View) error {
	for name, e := range topLevel(v) {
		if to, moves := h.at[name]; moves {
			v.Set(e, world.Pose, world.PoseBytes(spatial.Pose{Position: to, Rotation: spatial.None}), ecm.OneTime)
		}
		if slices.Contains(h.gone, name) {
			v.Remove(e)
		}
	}
	for _, name := range h.made {
		e := v.Create(world.Root)
		v.Set(e, world.Kind, []byte("model"), ecm.OneTime)
		v.Set(e, world.Name, []byte(name), ecm.OneTime)
		v.Set(e, world.Pose, world.PoseBytes(spatial.Pose{Position: h.at[name], Rotation: spatial.None}), ecm.OneTime)
	}
	h.gone, h.made = nil, nil
	return nil
}

func (h *hand) PostUpdate(_ world.Info, v *ecm.View) error {
	h.seen, h.names = map[string]bool{}, map[ecm.Entity]string{}
	for name, e := range topLevel(v) {
		h.seen[name], h.names[e] = true, name
	}
	return nil
}

func load(t *testing.T, file string) *sdf.World {
	d, _, err := sdf.Load(file, nil, nil)
	require.NoError(t, err)
	require.Len(t, d.Worlds, 1)
	return d.Worlds[0]
}

func (s *stage) open(file string, policy Policy, secondaries int) {
	w := load(s.t, file)
	plan, _, err := Read(w)
	require.NoError(s.t, err)
	s.hand = &hand{at: map[string]spatial.Vector{}}
	s.system = NewSystem(w, plan, policy, "answers")
	slots := []*world.Slot{{Name: "hand", System: s.hand, Priority: Priority - 1}, {Name: "levels", System: s.system, Priority: Priority}}
	if s.primary = nil; secondaries > 0 {
		c := newInProcess(s.t, secondaries)
		c.movers = 3
		s.primary = NewPrimary(c.names(), c, s.system, 1, false)
		slots = append(slots, &world.Slot{Name: "physics", System: s.primary})
	}
	s.server, err = world.New(world.Config{World: w, Slots: slots})
	require.NoError(s.t, err)
	require.NoError(s.t, s.server.Configure())
}

func (s *stage) step() {
	require.NoError(s.t, s.server.Step())
}

// levels returns the loaded levels.
func (s *stage) levels() []string {
	_, levels := s.system.Report()
	return levels
}

func vector(t *testing.T, text string) spatial.Vector {
	words := strings.Split(text, ",")
	require.Len(t, words, 3, text)
	var x [3]float64
	for i, w := range words {
		var err error
		x[i], err = strconv.ParseFloat(w, 64)
		require.NoError(t, err)
	}
	return spatial.Vector{X: x[0], Y: x[1], Z: x[2]}
}

func arg(c *script.Command, key, otherwise string) string {
	if value, has := c.Arg(key); has {
		return value
	}
	return otherwise
}

func (s *stage) do(c *script.Command) (string, error) {
	switch c.Name {
	case "world":
		s.open(filepath.FromSlash(arg(c, "file", "testdata/tutorial.sdf")), Policy(arg(c, "policy", "gz")), len(c.List("secondaries")))
		return s.show(), nil
	case "who": // moves and has what
		return s.who(), nil
	case "put": // a model to a place, and a step
		if to, moves := c.Arg("at"); moves {
			s.hand.at[arg(c, "model", "")] = vector(s.t, to)
		}
		n, err := strconv.Atoi(arg(c, "steps", "1"))
		if err != nil {
			return "", err
		}
		for range n {
			s.step()
		}
		return s.show(), nil
	case "walk": // a model in steps of 1 cm; what changes is told
		return s.walk(arg(c, "model", ""), vector(s.t, arg(c, "from", "")), vector(s.t, arg(c, "to", "")))
	case "perform":
		s.system.SetPerformer(arg(c, "model", ""))
		return "", nil
	case "make":
		name := arg(c, "model", "")
		s.hand.at[name], s.hand.made = vector(s.t, arg(c, "at", "")), append(s.hand.made, name)
		return "", nil
	case "remove":
		s.hand.gone = append(s.hand.gone, arg(c, "model", ""))
		return "", nil
	case "answers":
		var text strings.Builder
		for _, told := range s.server.Told() {
			fmt.Fprintf(&text, "%s\n", told.Payload)
		}
		return strings.TrimSuffix(text.String(), "\n"), nil
	}
	return "", fmt.Errorf("no command %s", c.Name)
}

// has returns the units that a secondary has.
func (s *stage) has(k int) (units []ecm.Entity) {
	for _, u := range s.primary.owners.all {
		if u.has>>k&1 != 0 {
			units = append(units, u.entity)
		}
	}
	return units
}

// who prints what each secondary moves, and which other models it has.
func (s *stage) who() string {
	var text strings.Builder
	for k, share := range s.primary.Shares() {
		var moves, has []string
		for _, e := range s.has(k) {
			if slices.Contains(s.primary.move[k], e) {
				moves = append(moves, s.hand.names[e])
			} else if e != world.Root {
				has = append(has, s.hand.names[e])
			}
		}
		slices.Sort(moves)
		slices.Sort(has)
		fmt.Fprintf(&text, "%s moves %v and has %v; its levels are %v\n", share.Name, moves, has, share.Levels)
	}
	return strings.TrimSuffix(text.String(), "\n")
}

// tell prints who moves a model and who else has it.
func (s *stage) tell(model string) (text string) {
	for k, share := range s.primary.Shares() {
		for _, e := range s.has(k) {
			if s.hand.names[e] == model && slices.Contains(s.primary.move[k], e) {
				text += ", " + share.Name + " moves it"
			} else if s.hand.names[e] == model {
				text += ", " + share.Name + " has it"
			}
		}
	}
	return strings.TrimPrefix(text, ", ")
}

// show prints the levels that are loaded, and the models of levels that are in the world.
func (s *stage) show() string {
	if s.hand.seen == nil { // nothing was stepped yet: what levels have loaded at the start
		return fmt.Sprintf("levels %v", s.levels())
	}
	var models []string
	for name := range s.hand.seen {
		models = append(models, name)
	}
	slices.Sort(models)
	return fmt.Sprintf("levels %v of %v", s.levels(), models)
}

func (s *stage) walk(model string, from, to spatial.Vector) (string, error) {
	var text strings.Builder
	told := ""
	cm := func(x float64) int { return int(math.Round(100 * x)) }
	n := max(cm(math.Abs(to.X-from.X)), cm(math.Abs(to.Y-from.Y)))
	for i := range n + 1 {
		part := func(a, b float64) float64 { return float64(cm(a)*n+(cm(b)-cm(a))*i) / float64(100*n) }
		s.hand.at[model] = spatial.Vector{X: part(from.X, to.X), Y: part(from.Y, to.Y), Z: from.Z}
		before := s.levels()
		s.step()
		after := s.levels()
		if s.primary != nil {
			if now := s.tell(model); now != told {
				told = now
				fmt.Fprintf(&text, "x=%.2f y=%.2f %s\n", s.hand.at[model].X, s.hand.at[model].Y, told)
			}
			continue
		}
		for _, l := range after {
			if !slices.Contains(before, l) {
				fmt.Fprintf(&text, "x=%.2f y=%.2f loads %s\n", s.hand.at[model].X, s.hand.at[model].Y, l)
			}
		}
		for _, l := range before {
			if !slices.Contains(after, l) {
				fmt.Fprintf(&text, "x=%.2f y=%.2f unloads %s\n", s.hand.at[model].X, s.hand.at[model].Y, l)
			}
		}
	}
	return strings.TrimSuffix(text.String(), "\n"), nil
}

// When levels are loaded and unloaded, by both policies, in Gazebo's tutorial and its test world; and what a performer that is added is told.
func TestLevels(t *testing.T) {
	script.Dir(t, "testdata/*.txt", func(t *testing.T) script.Handler { return (&stage{t: t}).do })
}

const worlds = "../sdf/testdata/worlds"

// All worlds of Gazebo that are saved here are read, and only one has something that means nothing.
func TestWorldsOfGazebo(t *testing.T) {
	files, err := filepath.Glob(worlds + "/*.sdf")
	require.NoError(t, err)
	counts := map[string][2]int{
		"distributed_levels_primary": {11, 2}, "distributed_levels_secondary": {11, 2}, "distributed_levels_standalone": {11, 2},
		"distributed_primary": {0, 3}, "distributed_secondary": {0, 3}, "distributed_standalone": {0, 3},
		"examples_worlds_levels": {19, 2}, "examples_worlds_levels_no_performers": {19, 0}, "examples_worlds_performer_detector": {0, 1},
		"lock_step": {}, "test_worlds_breadcrumbs_levels": {1, 1}, "test_worlds_level_performance": {29, 2},
		"test_worlds_levels": {5, 2}, "test_worlds_levels_no_performers": {5, 0}, "test_worlds_performer_detector": {1, 1}, "test_worlds_performers": {0, 2},
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".sdf")
		d, _, err := sdf.Load(file, nil, nil)
		require.NoError(t, err, file)
		if len(d.Worlds) == 0 {
			continue
		}
		plan, warnings, err := Read(d.Worlds[0])
		require.NoError(t, err, file)
		assert.Equal(t, counts[name], [2]int{len(plan.Levels), len(plan.Performers)}, file)
		if name == "test_worlds_levels" {
			require.Len(t, warnings, 1)
			assert.Contains(t, warnings[0].String(), "test_worlds_levels.sdf:1422:7: <buffer> means nothing in a <geometry>")
			continue
		}
		assert.Empty(t, warnings, file)
	}
}

// What is wrong with levels is told at once, with its line, and what to write instead.
func TestLevelsThatCannotBe(t *testing.T) {
	text, err := os.ReadFile("testdata/wrong.sdf")
	require.NoError(t, err)
	lines := strings.Split(string(text), "\n")
	_, warnings, err := Read(load(t, "testdata/wrong.sdf"))
	var invalid *problem.Invalid
	require.True(t, errors.As(err, &invalid))
	wanted := 0
	told := func(kind string, all []problem.Problem) {
		for _, p := range all {
			_, want, found := strings.Cut(lines[p.Line-1], "<!-- "+kind+": ")
			require.True(t, found, "line %d: %s", p.Line, p)
			want, _, _ = strings.Cut(want, " -->")
			assert.Equal(t, want, p.Message)
			wanted++
		}
	}
	told("error", invalid.Problems)
	told("warning", warnings)
	assert.Equal(t, strings.Count(string(text), "<!-- error: ")+strings.Count(string(text), "<!-- warning: "), wanted, "what was not told")
}
