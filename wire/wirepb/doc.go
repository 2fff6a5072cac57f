// Package wirepb is generated from metasim.proto, which describes the protocol. Only the codec of wire and its tests use it;
// all other packages use the plain structs of wire and metasim.
package wirepb

//go:generate protoc --go_out=. --go_opt=paths=source_relative metasim.proto
