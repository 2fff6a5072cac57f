// Package federates holds the clients that come with metasim: small models to build scenarios from, and a cart-pole
// in three parts.
//
// A model is known by its name. [Models] describes all of them as data: what parameters each takes, of what type, and
// what they mean without being written. [Inspect] says what an instance publishes and subscribes to and how it ends,
// so that a scenario can be checked before anything runs; [New] makes the instance.
//
// A model never looks at the wall clock to decide what it does: what it publishes follows from its parameters, its
// [Env] and what it receives. (phold's grain burns real time and nothing else. The bridge is the one
// exception: what it publishes comes from outside of the run, in real time, and [Spec].Live says so.)
//
// The caller's duties:
//
//  1. Declare is called once, on the builder, before Complete; Run once, right after it.
//  2. Where Run returns nil the client has left; where it returns an error it has not: close it, or the others wait.
//  3. Env.Open decides what a file parameter may reach.
package federates
