// Package models has Spin try out the models of docs/model: all that can happen in a small system with the rules of this one. Each
// model says at its beginning how it is checked, and which mistakes must be found in it. The package has no code but its test.
package models
