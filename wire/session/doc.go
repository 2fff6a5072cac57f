// Package session holds the rules of a session: what each end of the protocol may say, and when. It is pure. Calls and
// packets go in; packets and typed errors come out. It has no goroutine, no clock, no socket, no lock and no log: the
// shells (packages client and server) have these, and a replay or a simulation of a run has none.
//
// The client's end:
//
//	session.go    the types that the files share
//	join.go       Declaration: what a client declares; NewClient, and the Hello that it sends
//	run.go        Run: what a client with handlers and timers does at an instant
//	advance.go    Step and Next; the report, and the wait for an answer
//	publish.go    Publish, Promise, SetResult, Leave: what a client may say
//	receive.go    what the server's packets do to a client
//	inbound.go    Names and Inbound: from packets to messages
//	outbound.go   Outbound: what waits to be written, and when it must be written
//	timers.go     timers in their order
//
// The server's end is in server.go. ends_test.go plays both ends as text: testdata/server has the stories.
//
// # Duties of the caller of the client's end, in order
//
//  1. Declare everything, then call Declaration.Client once. It puts a Hello into Outbound.
//  2. After each call look at Outbound: write its packets when Outbound.Due says so, or when the client waits. All that is
//     written goes into one frame, in order.
//  3. Give every packet that arrives on the connection to Inbound.Add, in order and with the Names of that connection, also
//     packets for members that have left. Give each Inbound to Client.Receive.
//  4. One goroutine at a time uses a Client. A shell that writes from a timer needs a lock around Outbound only.
//  5. The client ends with the first error that Receive returns, or that the caller gives to Fail. Every later call returns
//     the same error.
//  6. The simulator must not see what Authorized returns: it depends on real time.
//
// # Duties of the caller of the server's end, in order
//
//  1. Give every packet that arrives to Server.Receive. Step the dispatcher with the event that it returns and record the
//     event. If the run has not failed with it, call Server.Answer, and do the same with the event that this returns.
//  2. Give every Deliver, Authorize and Evict of the dispatcher to the method of that name, in order.
//  3. When a connection ends, each client that Server.Disconnect returns is lost: say so with Lose. Then either the run
//     fails, or it goes on without the client: step the dispatcher with the event of Cut.
//  4. When the run is over call Farewell, and write what it put.
package session
