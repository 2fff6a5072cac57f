// Package replay does a recorded run again, in whole or in part, and says where it comes out differently.
//
// [Dispatcher] steps a fresh dispatcher through every event of a journal and checks every effect: the run's logic,
// without its clients. [Client] runs one client alone against what was delivered to it then, and checks that it sends
// what it sent then: one simulator, without the others, as fast as it can, or under a debugger as slow as one likes.
//
//	audit.go     the dispatcher again
//	tape.go      what a journal holds for one client: deliveries, authorizations, sends, the end
//	session.go   the server's side of the protocol, from a tape
//	check.go     what the client says, compared with the tape
//	client.go    one client, its player, and the session between
//	player.go    who plays the client: a built-in model, or a command
//	describe.go  the words for it
//
// # Duties of the caller
//
// A run can be replayed by the metasim that recorded it. A command of the scenario is started again: replay only runs
// that you trust as you trust their scenario.
package replay
