// Package wirepb is the protocol as protobuf sees it: generated from metasim.proto. Nothing but wire's codec and its
// tests uses it; everybody else speaks the plain structs of wire and metasim.
package wirepb

//go:generate protoc --go_out=. --go_opt=paths=source_relative metasim.proto
