// Package metasim is the pure machine of a deterministic, conservative parallel simulation. Every client tells it what it
// sends and what it promises not to send; it computes when each message arrives, and authorizes each client to advance as far
// as no unknown message can reach it.
//
// It does nothing but compute. Events go in, effects come out:
//
//	effects := d.Step(event)  // for each event of a batch
//	effects = d.Settle()      // once for the batch: which clients may go on
//
// # Who may call, and when
//
// The machine has no goroutine of its own. The goroutine that brings an event runs it (docs/adr/0014): a reader that has read a frame, or a
// client inside the process that writes one. The caller keeps these rules:
//
//  1. One goroutine at a time. Which one it is does not matter; in package server it is the one that has the turn.
//  2. Join for every client of the Config, then Begin. A client hears of Begin, and only then sends.
//  3. Step for each event of a batch, then Settle. Settle may be put off (clients then wait longer), but never left out.
//  4. The events of one client are stepped in the order in which it sent them. Between clients any order will do.
//  5. Effects are carried out in their order. Those for one client reach it in that order, over one stream.
//  6. Effects are lent, not kept: the slice until the next call, its values until the batch after this one begins. Copy what has
//     to live longer. Payloads may be kept: they are never changed.
//  7. A Finish ends the run: no event has an effect after it.
//  8. Every ClientID in an event is below the number of clients: the caller knows which client is on which connection.
//  9. No client learns how far it was authorized beyond what it needs to act: authorizations depend on the order in which events
//     came in. What a client is given, and when it is due, does not.
//
// # Runs that are nested
//
// A gateway speaks for the clients of one run in another (docs/adr/0038-nesting.md). It has two duties more:
//
//  10. When a client of a group (Config.Groups) was given something, all clients of the group report what they may send now,
//     before that delivery is acknowledged. Until then the delivery holds the promises of all down. One that was acknowledged too early
//     is found by the rules: an answer to it is a send before the promise.
//  11. What it promises for a client of Config.Outside is no more than the other run has authorized, less one step.
//
// # What is promised
//
// A client that acts at instants of its own choice, each strictly before its authorization, and handles what it was
// given in order, sees the same messages at the same instants in every run of the scenario. No message reaches it before an
// instant that it was authorized to. Safe times never fall. While clients wait, at least one of them can go on.
//
// # Where to read
//
// metasim.go has the calls, and passes each event on to join.go, send.go or report.go. settle.go decides which clients may go on;
// package safetime computes up to where. rules.go detects every violation. client.go is what is known of one client, event.go has
// the events and effects, config.go what a delay model has to give. memory.go and cascade.go bound what messages take. group.go and
// foresight.go are for runs that are nested. blame.go says which client holds which back, held.go for how long, ledger.go counts
// and computes digests.
package metasim
