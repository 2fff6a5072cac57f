package world

import (
	"slices"

	"metasim/federates/ecm"
	"metasim/federates/spatial"
	"metasim/metasim"
)

// Reaches say which models may touch one another within a time: those that physics is about to move, and static ones with spheres or boxes. Where none may, physics
// of a step has no contacts. They are kept from step to step, and only what has changed is looked at.
type Reaches struct {
	steps      metasim.Time // how many of them the time is
	step       metasim.Time
	gravity    spatial.Vector
	models     map[ecm.Entity]*reaching
	numbered   []*reaching // by their number in field
	free       []int       // numbers that nobody has any more
	collisions map[ecm.Entity]*collision
	under      map[ecm.Entity][]*collision // by link
	moving     []ecm.Entity                // models that have a velocity, in order
	movers     []*reaching                 // of moving
	flat       []ecm.Entity                // static models that have planes, in order
	field      spatial.Field
	stale      []*reaching
}

// A reaching model is one that has a velocity or shapes.
type reaching struct {
	entity     ecm.Entity
	number     int
	collisions []*collision // in any order
	body       body
	radius     float64
	found      bool // body moves, and is what the state has
	link       bool // there are shapes right below it
	stale      bool
	gone       bool
}

// A collision is a shape of a model.
type collision struct {
	entity, link ecm.Entity
	model        *reaching
	shape        shape
}

// NewReaches returns the reaches of a state in which nothing is, for a time of so many steps.
func NewReaches(steps int) *Reaches {
	return &Reaches{steps: metasim.Time(steps), models: map[ecm.Entity]*reaching{}, collisions: map[ecm.Entity]*collision{}, under: map[ecm.Entity][]*collision{}}
}

// Moving returns the models that have a velocity, in order. It is valid until the next Update.
func (r *Reaches) Moving() []ecm.Entity { return r.moving }

// Planes returns the static models that have planes, which everything may touch, in order.
func (r *Reaches) Planes() []ecm.Entity { return r.flat }

// Meetings calls f for each two models that may touch one another, once and in any order. One of them moves at least.
func (r *Reaches) Meetings(f func(a, b ecm.Entity)) {
	r.field.Meetings(func(a, b int) { f(r.numbered[a].entity, r.numbered[b].entity) })
}

// Update takes in what changed since the last Update, in the state that the view shows. The view has written nothing.
func (r *Reaches) Update(i Info, v *ecm.View, changed *ecm.Changes) {
	if g := gravityOf(v); g != r.gravity || i.Step != r.step {
		r.gravity, r.step = g, i.Step
		for _, m := range r.numbered {
			if !m.gone {
				r.look(m)
			}
		}
	}
	for _, e := range changed.Removed {
		r.remove(e)
	}
	at := 0 // in moving: most of what changes moves, and is in order, so it is found without a search
	for n := range changed.Edits {
		edit := &changed.Edits[n]
		for at < len(r.moving) && r.moving[at] < edit.Entity {
			at++
		}
		if at < len(r.moving) && r.moving[at] == edit.Entity {
			r.edit(v, edit, r.movers[at])
		} else {
			r.edit(v, edit, r.models[edit.Entity])
		}
	}
	for _, m := range r.stale {
		if m.stale = false; !m.gone {
			r.measure(v, m)
		}
	}
	r.stale = r.stale[:0]
}

// look has a model measured again.
func (r *Reaches) look(m *reaching) {
	if !m.stale {
		m.stale = true
		r.stale = append(r.stale, m)
	}
}

// model returns what is known of a model.
func (r *Reaches) model(e ecm.Entity) *reaching {
	m := r.models[e]
	if m != nil {
		return m
	}
	m = &reaching{entity: e, number: len(r.numbered), link: len(r.under[e]) > 0}
	if last := len(r.free) - 1; last >= 0 {
		m.number, r.free = r.free[last], r.free[:last]
		r.numbered[m.number] = m
	} else {
		r.numbered = append(r.numbered, m)
	}
	r.models[e] = m
	return m
}

// remove forgets an entity.
func (r *Reaches) remove(e ecm.Entity) {
	if c := r.collisions[e]; c != nil {
		r.detach(c)
	}
	if m := r.models[e]; m != nil {
		m.gone = true
		delete(r.models, e)
		r.free = append(r.free, m.number)
		r.field.Remove(m.number)
		r.list(m, false, false)
	}
}

func (r *Reaches) detach(c *collision) {
	is := func(other *collision) bool { return other == c }
	c.model.collisions = slices.DeleteFunc(c.model.collisions, is)
	if r.under[c.link] = slices.DeleteFunc(r.under[c.link], is); len(r.under[c.link]) == 0 {
		delete(r.under, c.link)
	}
	delete(r.collisions, c.entity)
	c.model.found = false
	r.look(c.model)
}

// edit takes in what changed of an entity, which may be a model that is known. Of most a model has moved, and nothing else.
func (r *Reaches) edit(v *ecm.View, edit *ecm.Edit, m *reaching) {
	e := edit.Entity
	if m == nil || m.link {
		for _, c := range r.under[e] {
			r.shape(v, c)
		}
	}
	if m != nil && m.found && len(edit.Removed) == 0 && m.moved(edit.Set) {
		if !m.stale {
			r.measure(v, m)
		}
		return
	}
	c := r.collisions[e]
	_, collides := v.Get(e, Surface)
	_, formed := v.Get(e, Shape)
	switch {
	case collides && formed && c == nil:
		link := v.Parent(e)
		c = &collision{entity: e, link: link, model: r.model(v.Parent(link))}
		c.model.collisions = append(c.model.collisions, c)
		r.collisions[e], r.under[link] = c, append(r.under[link], c)
		if over := r.models[link]; over != nil {
			over.link = true
		}
		fallthrough
	case collides && formed:
		r.shape(v, c)
	case c != nil:
		r.detach(c)
	}
	if _, moves := v.Get(e, Velocity); m != nil || moves {
		m = r.model(e)
		m.found = false
		r.look(m)
	}
}

// moved takes in that a model has moved; false: something else may have changed too.
func (m *reaching) moved(set []ecm.Component) bool {
	for i := range set {
		switch set[i].Type {
		case Pose:
			m.body.pose = PoseOf(set[i].Value)
		case Velocity:
			m.body.v, m.body.w = PairOf(set[i].Value)
		default:
			return false
		}
	}
	return true
}

// shape looks at the shape of a collision. One that has none any more is taken away with what changed of itself.
func (r *Reaches) shape(v *ecm.View, c *collision) {
	form, formed := v.Get(c.entity, Shape)
	surface, collides := v.Get(c.entity, Surface)
	if !formed || !collides {
		return
	}
	c.shape = shapeOf(v, c.link, c.entity, form, surface)
	c.model.found = false
	r.look(c.model)
}

// measure says how far a model reaches.
func (r *Reaches) measure(v *ecm.View, m *reaching) {
	moves := m.found && !m.body.fixed
	if !m.found {
		moves = r.find(v, m)
	}
	if len(m.body.shapes) == 0 || !moves && !m.body.fixed {
		r.field.Remove(m.number)
		return
	}
	var space spatial.Box
	if moves {
		m.body.pull(r.gravity)
		m.body.ahead = m.body.v.Add(m.body.a.Scale(r.step.Seconds()))
		space = m.body.within(m.radius, (r.steps * r.step).Seconds())
	} else {
		space = m.body.space()
	}
	r.field.Put(m.number, &space, moves)
}

// find looks a model up, and reports whether it moves. One that does neither move nor stand has a body without shapes.
func (r *Reaches) find(v *ecm.View, m *reaching) (moves bool) {
	velocity, moving := v.Get(m.entity, Velocity)
	_, static := v.Get(m.entity, Static)
	pose, posed := v.Get(m.entity, Pose)
	m.body, m.found = body{}, false
	if static && posed {
		m.body = *obstacle(m.entity, PoseOf(pose))
	} else if moving {
		moves = m.body.find(m.entity, velocity, v)
	}
	planes := false
	for _, c := range m.collisions {
		switch kind := c.shape.Kind; {
		case moves || m.body.fixed && (kind == Sphere || kind == Box):
			m.body.shapes = append(m.body.shapes, c.shape)
		case m.body.fixed && kind == Plane:
			planes = true
		}
	}
	m.found, m.radius = moves, m.body.radius()
	r.list(m, moving, planes)
	return moves
}

// list keeps the lists of models that have a velocity, and that have planes.
func (r *Reaches) list(m *reaching, moving, planes bool) {
	if i, there := slices.BinarySearch(r.moving, m.entity); moving && !there {
		r.movers = slices.Insert(r.movers, i, m)
	} else if !moving && there {
		r.movers = slices.Delete(r.movers, i, i+1)
	}
	r.moving, r.flat = listed(r.moving, m.entity, moving), listed(r.flat, m.entity, planes)
}

// listed returns the list with an entity in it, or without.
func listed(list []ecm.Entity, e ecm.Entity, in bool) []ecm.Entity {
	i, there := slices.BinarySearch(list, e)
	switch {
	case in && !there:
		return slices.Insert(list, i, e)
	case !in && there:
		return slices.Delete(list, i, i+1)
	}
	return list
}
