// Package metasim is the pure machine of a deterministic, conservative parallel simulation: it hears from every client
// what it sends and what it promises not to send, computes when each message arrives, and authorizes each client to
// advance as far as nothing can reach its past.
//
// It does nothing but compute. Events go in, effects come out:
//
//	effects := d.Step(event)  // for each event that waits
//	effects = d.Settle()      // once for the batch: who may go on
//
// # Duties of the caller
//
//  1. One goroutine owns a Dispatcher.
//  2. The events of one client are stepped in the order in which it sent them. Between clients any order will do: that
//     is the point.
//  3. Effects are carried out in their order; those for one client reach it in their order, over one stream. They are
//     valid until the next call.
//  4. Settle follows every batch. It may be put off (a client then waits longer), never forgotten.
//  5. Join every client of the Config, then Begin. A client hears of Begin, and only then sends.
//  6. A Finish ends everything: no event has an effect after it.
//  7. Every ClientID in an event is below the number of clients: the shell knows who is on which connection.
//  8. No client learns how far it was authorized beyond what it needs to act: authorizations depend on the order in
//     which events came in; what a client is given, and when it is due, does not.
//
// # What is promised
//
// A client that acts at instants of its own choice, each strictly before its authorization, and handles what it was
// given in order, sees the same messages at the same instants in every run of the scenario. No message reaches it
// before an instant that it was authorized to; safe times never fall; and while somebody waits for something, somebody
// can go on. The tests try to prove the contrary.
package metasim
