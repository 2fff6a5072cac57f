// Package client is what a simulator embeds to take part in a run.
//
// A [Builder] is incomplete: publications and subscriptions may be added. [Builder.Complete] joins the run and returns a
// [Client] once every client has joined; from then on the channels are fixed. What is published before the first wait is
// sent at the start instant.
//
// There are three ways to live in simulated time, and they may be mixed:
//
//   - [Client.Steps] is for a simulator with a loop of equal steps, and [Client.Step] for one that chooses its instants.
//   - [Client.Next] stops at the next message, or at a limit.
//   - [Client.Run] owns the loop: handlers are called for messages and timers, in order.
//
// Messages are bytes here. Package metasim/client/typed has channels with the Go type of their values, inputs, and requests with answers.
//
// A client acts at instants: nothing it sees depends on how fast any client computes. How far it was authorized
// to advance is hidden from it, as that does depend on it.
//
// # Duties of the caller
//
//  1. One goroutine uses a Client; handlers run on the one that called Run. (In a Scheduler that is a coroutine.)
//  2. The simulator is a function of the messages it is given: it reads no wall clock, and draws its random numbers
//     from [Client.Rand].
//  3. Do not change a payload that you received, or that you gave to PublishOwned.
//  4. [ErrEnd] is how a run ends well: leave then. End with Leave, or with Run, which leaves when nothing can happen any more. A client that just goes away counts as
//     crashed, and ends the run for all.
//  5. A context that is cancelled while a call waits ends the client: it cannot be used afterwards. One of [Interruptible] ends the wait alone.
package client
