// Package session holds the rules of a session: what each end of the protocol may say, and when. It is pure. Calls and
// packets go in; packets and typed errors come out. It has no goroutine, no clock, no socket, no lock and no log: the
// shells (packages client and server) have these, and a replay or a simulation of a run has none.
//
// The client's end:
//
//	session.go    the types that the files share
//	join.go       what a client declares, and its Hello
//	run.go        Run: what a client with handlers and timers does at an instant
//	advance.go    Step and Next, the wait for an answer, the reports; what a client may say: Publish, Promise, Leave
//	receive.go    from packets to messages; what the server's packets do to a client, and how a session ends
//	survivor.go   what a client remembers in case its server dies, and how it comes back
//	outbound.go   what waits to be written, and when it must be written
//
// client_run_test.go is a whole client without goroutines: it plays testdata/client, the stories that are also the
// vectors of conformance/.
//
// The server's end:
//
//   - server.go: the server, and member.go: one of its clients.
//   - hello.go: what is checked of a Hello before the server has its turn.
//   - door.go: the names that a client of a scenario inside another one knows.
//   - again.go: a client whose process was replaced, and past.go: what the earlier process did.
//   - back.go: a client that outlived its server.
//
// ends_test.go plays both ends as text. The stories are in testdata/server.
//
// # Duties of the caller of the client's end, in order
//
//  1. Declare everything, then call Declaration.Join once. Write what it puts into the Outbound.
//  2. Give every packet that arrives on the connection to Inbound.Add, in order and with the Names of that connection; also
//     packets for members that have left, as they may introduce. Give the Inbound to Client.Receive.
//  3. To advance, follow BeginStep, BeginNext or BeginRun: each says which calls come next.
//  4. After each call write Outbound.Packets if Outbound is Urgent, in one write, and call Written. What is not urgent and
//     follows a GoOn may wait: call Keep, and write when there is no time Left. After a Publish only what is Full need be written.
//  5. One goroutine at a time uses a Client. A shell that writes from a timer holds a lock while it calls what may put
//     something into the Outbound: Join, Publish, Promise, Leave, GoOn, Report and Wait.
//  6. The session ends with the first error that Receive returns, or that the caller gives to Fail, Lose or Cancel. Every
//     later call returns the same error.
//  7. If the connection ends and the client has Patience, connect again, call Return, and follow CatchUp.
//  8. The simulator must not see what Authorized returns: it depends on real time.
//
// # Duties of the caller of the server's end, in order
//
//  1. Give the packets that arrive to Server.Prepare, and then each to Server.Receive. Step the dispatcher with the event that it returns and record the
//     event. If the run has not failed with it, call Server.Answer, and do the same with the event that this returns.
//  2. Give every Deliver, Authorize and Evict of the dispatcher to the method of that name, in order.
//  3. When a connection ends, each client that Server.Disconnect returns is lost: say so with Lose. Then either the run
//     fails, or it goes on without the client: step the dispatcher with the event of Cut.
//  4. A client whose process is replaced is not lost: call Vacate. When Receive returns its next Join, give that to Return, and not to the
//     dispatcher; then give Remember what the journal has of the client up to that moment, in parts, and what Held returns after each
//     part to Receive. Until it Repeats nothing any more, what it says and what it is given is compared and given again here.
//  5. When the run is over call Farewell, and write what it put.
package session
