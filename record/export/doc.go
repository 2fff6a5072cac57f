// Package export turns the journal of a run into files that other programs read: event logs of LCM, and MCAP.
//
//	log, err := export.NewLog(file, names, export.LogOptions{})
//	end, err := export.Walk(names, journal, log.Write)
//	err = log.Close()
//
// A journal holds things in the order in which they reached the server. That is no order to export: it is another one in
// each repetition. [Walk] brings them into simulated order while it reads, and leaves out what depends on real time: what
// was handed out ahead and never handled, and how far anybody was authorized. So the files of two repetitions are equal
// byte for byte, whatever the transport, the number of processors or the machine.
//
// The caller's duties: to give Walk the names of the manifest of the same run; to look at the [End] that it returns, as a
// run that was killed leaves a journal without one; to Close what it has written to, and then the file itself.
package export
