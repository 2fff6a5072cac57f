// Package exportpb is generated from event.proto: what an MCAP file of a run says of each message. The exporter appends
// the encoding by hand, as it writes millions; the generated code is the schema in the file, and the tests' measure.
package exportpb

//go:generate protoc -I ../.. --go_out=../.. --go_opt=paths=source_relative export/exportpb/event.proto
