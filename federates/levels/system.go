package levels

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"metasim/federates/ecm"
	"metasim/federates/sdf"
	"metasim/federates/spatial"
	"metasim/federates/world"
)

// Priority is that of the system in a world: before all others, so that they see in each step what is loaded in it.
const Priority = -1 << 31

// Last is the priority of a Mapper: it is made anew after all that it looks at.
const Last = 1<<31 - 1

// askedSize is the box of a performer that is added while the world goes on, as Gazebo has it.
var askedSize = spatial.Vector{X: 2, Y: 2, Z: 2}

// A System loads and unloads the models of levels. In Configure it takes away what is loaded nowhere. A model that is loaded again is
// as the file has it, and is a new entity.
type System struct {
	world      *sdf.World
	plan       *Plan
	items      []item  // models and lights that come and go with levels
	refs       [][]int // by level: of items
	rule       *rule
	performers []tracked

	asked   []string // models that are to be performers, since the last step
	waiting []string // those that the world does not have yet
	answers []world.Told
	topic   string // of answers

	Stats Stats
}

// An item is a model or a light that is there while any of its levels is loaded.
type item struct {
	name  string
	uses  int        // how many of its levels are loaded
	there ecm.Entity // in the world; 0: it is not there
}

// Stats count what was loaded.
type Stats struct{ Loads, Unloads uint64 }

// NewSystem makes the system of a world. What it answers to SetPerformer is told on a topic.
func NewSystem(w *sdf.World, plan *Plan, policy Policy, topic string) *System {
	if policy == None {
		plan = &Plan{Performers: plan.Performers}
	}
	s := &System{world: w, plan: plan, rule: newRule(plan.Levels, policy), topic: topic}
	s.items, s.refs = refsOf(w, plan)
	for _, p := range plan.Performers {
		s.performers = append(s.performers, tracked{Performer: p})
	}
	return s
}

// SetPerformer asks for a model to be a performer from the next step on. If the world does not have the model, it is waited for.
func (s *System) SetPerformer(model string) { s.asked = append(s.asked, model) }

// An answer to SetPerformer is told as JSON.
type answer struct {
	Model string `json:"model"`
	OK    bool   `json:"ok"`
	Waits bool   `json:"waits"` // the world has no such model yet; another answer follows when it has
	Error string `json:"error"`
}

func (s *System) answer(a answer) error {
	b, err := json.Marshal(a)
	s.answers = append(s.answers, world.Told{Topic: s.topic, Payload: b})
	return err
}

// Told returns the answers to SetPerformer.
func (s *System) Told() []world.Told {
	told := s.answers
	s.answers = nil
	return told
}

// Configure takes away the models of levels that are not loaded.
func (s *System) Configure(_ world.Setup, v *ecm.View) error {
	found := topLevel(v)
	s.find(v)
	load, _ := s.rule.Update(s.performers)
	for _, i := range load {
		for _, ref := range s.refs[i] {
			s.items[ref].uses++
			s.items[ref].there = found[s.items[ref].name]
		}
	}
	for i := range s.items {
		if s.items[i].uses == 0 {
			v.Remove(found[s.items[i].name])
		}
	}
	return nil
}

// refsOf returns the models and lights that come and go with levels, and those of each level: they are in the world, and no performers.
func refsOf(w *sdf.World, plan *Plan) (items []item, refs [][]int) {
	comes := map[string]bool{}
	for _, m := range w.Models {
		comes[m.Name] = true
	}
	for _, l := range w.Lights {
		comes[l.Name] = true
	}
	for _, p := range plan.Performers {
		comes[p.Model] = false
	}
	refs = make([][]int, len(plan.Levels))
	known := map[string]int{}
	for i, l := range plan.Levels {
		for _, name := range l.Refs {
			if !comes[name] {
				continue
			}
			if _, has := known[name]; !has {
				known[name] = len(items)
				items = append(items, item{name: name})
			}
			refs[i] = append(refs[i], known[name])
		}
	}
	return items, refs
}

// topLevel returns the models and lights of the world itself, by name.
func topLevel(v *ecm.View) map[string]ecm.Entity {
	found := map[string]ecm.Entity{}
	for e, name := range v.With(world.Name) {
		kind, _ := v.Get(e, world.Kind)
		if _, twice := found[string(name)]; !twice && v.Parent(e) == world.Root && (string(kind) == "model" || string(kind) == "light") {
			found[string(name)] = e
		}
	}
	return found
}

// models returns the models of the world itself, by name: a light is no performer.
func models(v *ecm.View) map[string]ecm.Entity {
	found := topLevel(v)
	maps.DeleteFunc(found, func(_ string, e ecm.Entity) bool {
		kind, _ := v.Get(e, world.Kind)
		return string(kind) != "model"
	})
	return found
}

// find finds the models of performers. Those of the world are looked for where one is missing.
func (s *System) find(v *ecm.View) {
	var found map[string]ecm.Entity
	for i := range s.performers {
		p := &s.performers[i]
		if p.entity == 0 || !v.Exists(p.entity) {
			if found == nil {
				found = models(v)
			}
			p.entity = found[p.Model]
		}
		if pose, has := v.Get(p.entity, world.Pose); has {
			p.centre = world.PoseOf(pose).Position
			p.box = spatial.Around(p.centre, p.Size)
		} else {
			p.entity = 0
		}
	}
}

// PreUpdate loads and unloads.
func (s *System) PreUpdate(_ world.Info, v *ecm.View) error {
	if err := s.admit(v); err != nil {
		return err
	}
	s.find(v)
	load, unload := s.rule.Update(s.performers)
	s.Stats.Loads += uint64(len(load))
	s.Stats.Unloads += uint64(len(unload))
	for _, i := range load { // before anything is unloaded: what both levels have stays
		if err := s.load(i, v); err != nil {
			return err
		}
	}
	for _, i := range unload {
		s.unload(i, v)
	}
	return nil
}

func (s *System) load(level int, v *ecm.View) error {
	for _, ref := range s.refs[level] {
		it := &s.items[ref]
		if it.uses++; it.uses > 1 || v.Exists(it.there) { // the latter is a performer since
			continue
		}
		e, err := world.Add(v, s.world, it.name)
		if err != nil {
			return fmt.Errorf("level %s: %w", s.plan.Levels[level].Name, err)
		}
		it.there = e
	}
	return nil
}

func (s *System) unload(level int, v *ecm.View) {
	for _, ref := range s.refs[level] {
		it := &s.items[ref]
		if it.uses--; it.uses == 0 && !s.performs(it.there) {
			v.Remove(it.there)
			it.there = 0
		}
	}
}

func (s *System) performs(e ecm.Entity) bool {
	return slices.ContainsFunc(s.performers, func(p tracked) bool { return p.entity == e })
}

// admit makes performers of the models that were asked for, as soon as the world has them.
func (s *System) admit(v *ecm.View) error {
	if len(s.asked)+len(s.waiting) == 0 {
		return nil
	}
	found := models(v)
	var still []string
	for _, model := range s.waiting {
		if found[model] == 0 {
			still = append(still, model)
		} else if err := s.perform(model); err != nil {
			return err
		}
	}
	s.waiting = still
	for _, model := range s.asked {
		var err error
		switch {
		case model == "":
			err = s.answer(answer{Error: "no model is named; send the name of a model as the payload"})
		case slices.ContainsFunc(s.performers, func(p tracked) bool { return p.Model == model }):
			err = s.answer(answer{Model: model, Error: "the model is a performer already"})
		case slices.Contains(s.waiting, model):
			err = s.answer(answer{Model: model, Waits: true, Error: "the model was asked for already, and the world does not have it yet"})
		case found[model] == 0:
			s.waiting = append(s.waiting, model)
			err = s.answer(answer{Model: model, Waits: true, Error: "the world has no such model yet"})
		default:
			err = s.perform(model)
		}
		if err != nil {
			return err
		}
	}
	s.asked = s.asked[:0]
	return nil
}

func (s *System) perform(model string) error {
	s.performers = append(s.performers, tracked{Performer: Performer{Name: model, Model: model, Size: askedSize}})
	return s.answer(answer{Model: model, OK: true})
}

// Report says where the performers are and which levels are loaded, by name, in the order of the plan.
func (s *System) Report() (performers, levels []string) {
	performers, levels = []string{}, []string{}
	for i := range s.performers {
		performers = append(performers, s.performers[i].Name)
	}
	for i := range s.plan.Levels {
		if s.rule.Is(i) {
			levels = append(levels, s.plan.Levels[i].Name)
		}
	}
	return performers, levels
}
