// Package dst is a simulation of the system itself: the dispatcher, the server's end of the sessions and every client's end run in one
// goroutine, over a network that is simulated. One generator, keyed by a seed, draws a scenario, and what happens next: who computes,
// what is written, how much of it arrives, when the server settles, who reads slowly, whose connection ends. So what is found once is
// found again.
//
//	scenario.go   what is drawn: everything that may decide what clients see
//	simulator.go  what the program of a client does: a function of what it is given
//	client.go     such a program on the client's end of a session
//	moments.go    what dies in a run, and when
//	network.go    the connections, the server's end, and clients that are lost or started again
//	disk.go       the journal, of which a crash leaves the beginning and perhaps rubbish, and the checkpoints of clients
//	crash.go      a server that crashes and is resumed, and clients that outlive it
//	books.go      counts the events and effects of the dispatcher, and compares what it should hold with what it holds
//	run.go        one run of a scenario: what happens next, and what must hold all the time
//	nested.go     a scenario as two runs, of which one is nested in the other, with a gateway between
//	plain.go      the same scenario computed without any of it: one list of events, in order of time
//	compare.go    what must be equal: the runs of a scenario, and the plain computation
//	types.go      the types that the files share
package dst
