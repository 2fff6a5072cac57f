// Package tidy holds the rules of the house as a test: who may import whom, what the pure machine may not touch, how long
// a file and a function may be. A failure gives the reason. The plan is docs/design.md, section 2; change both together.
package tidy
