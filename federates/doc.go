// Package federates holds the clients that come with metasim: small models to build scenarios from, and one subfolder for
// each larger system.
//
// A model is known by its name. Package federates/catalog describes all models as data; [New] makes one of them run.
//
// To add a model, write what it does in one file here, or in a subfolder, with a function that makes it of a
// [catalog.Instance], and list that function in one line of the table in federates.go. Its name, its parameters and its
// channels are an element of the table in federates/catalog/models.go; a test fails while one of the two is missing.
// Scenarios, `metasim schema` and `metasim client` then know it. Package federates/loop has what most models do alike.
//
// A model never looks at the wall clock to decide what it does: what it publishes follows from its parameters, its
// [catalog.Env] and what it receives. (The grain of phold takes real time and changes nothing else. The bridge is the one
// exception: what it publishes comes from outside of the run in real time, and RealTime in its element says so.)
//
// The caller's duties:
//
//  1. Declare is called once, on the builder, before Complete; Run once, right after it.
//  2. Where Run returns nil the client has left; where it returns an error it has not: close it, or the others wait.
//  3. Env.Open decides what a file parameter may reach.
package federates
