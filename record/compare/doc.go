// Package compare finds the first message in which two recorded runs differ, and the client that caused it.
//
// It does not read the whole journals. Beside each journal lies an index ([journal.Index]) with two hash histories for each
// client: of what it received, and of what it sent. Where two histories begin to differ is found by bisection of their
// checkpoints. Then only the part of the two journals between two checkpoints is read.
//
// The cause: what a client sends at an instant follows from what it received up to then. So the cause is the earliest client whose
// outputs differ while its inputs are still equal, unless the scenario gave it something else to do. If there is none, the links are
// the cause: the scenarios differ.
//
//	compare.go    what a comparison finds
//	verdict.go    the first divergence and its cause, and how they are shown
//	read.go       the parts of a journal in which a search may find its difference
//	search.go     where two histories differ: by their checkpoints, and then in the journals
//	side.go       one of the two runs, and what is missing of it
package compare
