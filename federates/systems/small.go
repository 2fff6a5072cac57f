package systems

import (
	"fmt"

	"metasim/federates/ecm"
	"metasim/federates/spatial"
	"metasim/federates/world"
)

// wind pushes every model that moves: <velocity> is that of the air, <drag> the force for each unit of speed against it.
type wind struct {
	velocity spatial.Vector
	drag     float64
}

func (w *wind) Configure(s world.Setup, _ *ecm.View) error {
	p := parameters{plugin: s.Plugin}
	w.velocity, w.drag = p.vector("velocity"), p.numbers("drag", 0.1)[0]
	return p.err
}

func (w *wind) PreUpdate(_ world.Info, v *ecm.View) error {
	for e, value := range v.With(world.Velocity) {
		speed, _ := world.PairOf(value)
		force, torque := w.velocity.Sub(speed).Scale(w.drag), spatial.Vector{}
		if before, found := v.Get(e, world.Force); found { // what systems of a smaller priority want is kept
			f, t := world.PairOf(before)
			force, torque = force.Add(f), t
		}
		v.Set(e, world.Force, world.PairBytes(force, torque), ecm.Periodic)
	}
	return nil
}

// odometer writes how far each model has moved, as the component odometer: metres. It remembers where each was.
type odometer struct{ last map[ecm.Entity]spatial.Vector }

func (o *odometer) Configure(world.Setup, *ecm.View) error {
	o.last = map[ecm.Entity]spatial.Vector{}
	return nil
}

func (o *odometer) PreUpdate(_ world.Info, v *ecm.View) error {
	for e := range v.With(world.Velocity) {
		b, found := v.Get(e, world.Pose)
		if !found {
			continue
		}
		at, way := world.PoseOf(b).Position, 0.0
		if before, found := v.Get(e, "odometer"); found && len(before) == 8 {
			way = world.NumberOf(before)
		}
		if last, known := o.last[e]; known {
			way += at.Sub(last).Length()
		}
		o.last[e] = at
		v.Set(e, "odometer", world.Numbers(way), ecm.Periodic)
	}
	return nil
}

// spawner makes a ball every <period> steps at <position>, with <velocity>, and takes it away after <life> steps.
type spawner struct {
	position, velocity spatial.Vector
	period, life       uint64
	world              ecm.Entity
	balls              []ball
}

type ball struct {
	entity ecm.Entity
	until  uint64
}

const ballRadius = 0.1

func (s *spawner) Configure(setup world.Setup, _ *ecm.View) error {
	p := parameters{plugin: setup.Plugin}
	s.position, s.velocity = p.vector("position"), p.vector("velocity")
	s.period, s.life, s.world = p.whole("period", 100), p.whole("life", 200), setup.World
	return p.err
}

// PreUpdate makes balls.
func (s *spawner) PreUpdate(i world.Info, v *ecm.View) error {
	if i.Iteration%s.period != 0 {
		return nil
	}
	e := v.Create(s.world)
	name := fmt.Sprintf("ball-%d", i.Iteration/s.period)
	text := func(of ecm.Entity, component, value string) { v.Set(of, component, []byte(value), ecm.OneTime) }
	set := func(of ecm.Entity, component string, value []byte) { v.Set(of, component, value, ecm.OneTime) }
	text(e, world.Kind, "model")
	text(e, world.Name, name)
	set(e, world.Pose, world.PoseBytes(spatial.Pose{Position: s.position, Rotation: spatial.None}))
	moment := 0.4 * 0.1 * ballRadius * ballRadius // of a ball of 0.1 kg
	set(e, world.Inertial, world.Numbers(0.1, 0, 0, 0, moment, 0, 0, moment, 0, moment))
	set(e, world.Velocity, world.PairBytes(s.velocity, spatial.Vector{}))
	link := v.Create(e)
	text(link, world.Kind, "link")
	set(link, world.Pose, world.PoseBytes(spatial.Identity))
	collision := v.Create(link)
	text(collision, world.Kind, "collision")
	set(collision, world.Pose, world.PoseBytes(spatial.Identity))
	set(collision, world.Shape, world.Geometry{Kind: world.Sphere, Radius: ballRadius}.Bytes())
	set(collision, world.Surface, world.Numbers(0.5, 0.5))
	s.balls = append(s.balls, ball{e, i.Iteration + s.life})
	return nil
}

// Update takes balls away.
func (s *spawner) Update(i world.Info, v *ecm.View) error {
	for len(s.balls) > 0 && s.balls[0].until <= i.Iteration {
		v.Remove(s.balls[0].entity)
		s.balls = s.balls[1:]
	}
	return nil
}
