// Package federates holds the clients that come with metasim: small models to build scenarios from, and a cart-pole
// in three parts.
//
// A model is known by its name. [Models] describes all of them as data: what parameters each takes, of what type, and
// what they mean without being written. [Inspect] says what an instance publishes and subscribes to and how it ends,
// so that a scenario can be checked before anything runs; [New] makes the instance.
//
// The caller's duties: Declare is called once, on the builder, before Complete; Run once, after it. A model
// leaves the run before Run returns nil. A model never looks at the wall clock to decide what it does: what it
// publishes follows from its parameters, its [Env] and what it receives. (phold's grain burns real time and
// nothing else.)
package federates
