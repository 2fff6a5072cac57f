// Package compare finds where two recorded runs part: the first message that is not the same, and the client whose
// doing that is.
//
// It does not read the runs. Beside each journal lies an index ([journal.Index]) with two chains of hashes a client: of
// what it was given, and of what it sent. Where two chains part is found by bisection of their checkpoints; only the
// part of the two journals between those and the next is read.
//
// Whose doing: what a client sends at an instant follows from what it was given up to then. So it is the earliest client whose
// output differs while its inputs are still equal. If there is none, the links have done it: the scenarios differ.
//
//	side.go       a run, its index, and what is missing of it
//	search.go     where chains part, and which part of the journals tells more
//	look.go       that part, read
//	verdict.go    the first divergence, and whose doing it is
//	message.go    a message, found by sender and number, and shown
//	scenario.go   in what two scenarios differ
package compare
