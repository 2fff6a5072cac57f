// Package journalpb is the schema of a journal's records, and Go code generated from it. Package journal writes and
// reads the same bytes by hand, as that costs a fifth; its tests hold the two together. Programs in other languages
// generate their own from journal.proto.
package journalpb

//go:generate protoc -I ../../.. --go_out=../../.. --go_opt=paths=source_relative record/journal/journalpb/journal.proto
