// Package export writes a recorded run into files that other programs read: event logs of LCM, and MCAP.
//
//	files, err := export.Open(run, export.Options{Log: "run.lcmlog"})
//	torn, err := files.Write(func(path string, c export.Count) { ... })
//	err = files.Discard() // in any case
//
// A journal has what happened in the order in which it reached the server, which is another one in each repetition. An export sorts it by
// simulated time while it reads, and leaves out what depends on real time: what was delivered ahead and never handled, and how far
// clients were authorized. So the files of two repetitions are equal byte for byte, whatever the transport, the number of processors or
// the machine.
//
// [Messages] lists the messages of a run in the same way.
//
//	export.go   what happened to messages; how much was written
//	files.go    a run, written into files
//	list.go     the list of its messages
//	walk.go     a journal, sorted by simulated time
//	log.go      an event log of LCM
//	mcap.go     an MCAP file
//	schema.go   the schemas in it
//	view.go     the clients that an export has, the names of their streams, and a count
//
// # Duties of the caller
//
//  1. Check what Write and Messages return as torn: the journal of a run that was killed is not whole.
//  2. Call Discard in the end.
package export
