// Package replay does a recorded run again, in whole or in part, and says where it comes out differently.
//
// [Dispatcher] steps a fresh dispatcher through every event of a journal and checks every effect: the logic of the run,
// without its clients. [Client] runs one client alone against what was delivered to it then, and checks that it sends what
// it sent then: one simulator without the others, as fast as possible, or slowly in a debugger.
//
//	replay.go      the types: Program, Checked, Difference
//	dispatcher.go  the dispatcher again
//	client.go      one client again: its program, and the connection to it
//	exchange.go    the server's end of that connection, the comparison, and what waits to be written to the client
//	tape.go        what a journal holds for one client: deliveries, authorizations, sends, the end
//	past.go        the same of a run that goes on, for a client that is started again
//	words.go       events, effects and sends in words
//
// # Duties of the caller
//
// A run can be replayed by the metasim that recorded it. A command of the scenario is started again: replay only runs
// that you trust as you trust their scenario.
package replay
