// Package levels is about worlds that are too large to be in memory, or in one process, at once: levels, which are boxes of a world
// with the models that belong to them, and performers, which are the models that move through the world. A level is loaded while a
// performer is in it or near it. The state of a world is the same, whoever asks and however many clients simulate it.
//
//   - [Read] takes levels and performers from the plugin gz::sim of a world, with what is wrong with them.
//   - A rule says which levels are loaded, given where the performers are.
//   - [System] does it: a system of a world that loads and unloads models.
package levels

import (
	"metasim/federates/ecm"
	"metasim/federates/sdf"
	"metasim/federates/spatial"
)

// A Policy says when a level is loaded.
type Policy string

// The policies. With both a level stays while a performer touches its buffer.
const (
	None     Policy = "none"     // everything is loaded all the time
	Gazebo   Policy = "gz"       // loaded when a performer touches its inner box, as Gazebo does
	Document Policy = "document" // loaded when a performer touches its buffer, as Gazebo's documents say
)

// Policies are their names.
var Policies = []string{string(Gazebo), string(Document), string(None)}

// A Level is a box of a world, and the models and lights that are there while it is loaded.
type Level struct {
	Place        sdf.Place
	Name         string
	Inner, Outer spatial.Box // Outer is with the buffer
	Refs         []string
}

// A Performer is a model that loads levels. Its box stands around the position of the model, whatever its rotation.
type Performer struct {
	Place sdf.Place
	Name  string
	Model string
	Size  spatial.Vector
}

// A Plan is what a world says of levels and performers, in the order of its file.
type Plan struct {
	Levels     []Level
	Performers []Performer
}

// A tracked performer is one while the world goes on.
type tracked struct {
	Performer
	seeker            // its box, around centre
	entity ecm.Entity // 0: its model is not in the world
	centre spatial.Vector
}

// A seeker is a box that asks which levels are near, as it moves a little at a time.
type seeker struct {
	box  spatial.Box
	room spatial.Box // where the box may be, and near is still right
	near []int       // the levels whose buffers touch room, in order
	in   []int       // those whose buffers touch box, in order: of the last look of a rule at all performers
	knew bool
}
