// Package past reads what a client of a run that goes on was given and said, for its process that is started again: from the journal, and from the last
// checkpoint on where one fits.
//
//	past.go        the past of a client, in parts
//	scan.go        reads the journal once for many clients
//	checkpoint.go  the checkpoints of a run
//	files.go       their files, in its directory
//	kept.go        the file of a checkpoint
package past
