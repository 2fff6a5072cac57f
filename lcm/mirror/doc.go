// Package mirror shows a run to those who watch with LCM's own tools: it observes the server, and publishes every message
// that the server received, and every message that it delivered, on an LCM network.
//
// A message on CHANNEL is shown on CHANNEL@sender when it was received, and on CHANNEL@sender>recipient when it was
// delivered, byte for byte: tools know a type by the first bytes of a payload. Beside each stands a companion on
// METASIM_EVENT, of the type in event_t.lcm, which says what LCM's packets have no place for.
//
// The network hears messages in the order in which the server saw them, which is not that of simulated time, and differs
// from run to run; over UDP, what goes out together is heard channel by channel. For what happened, in order, there is
// the journal.
//
// A mirror changes nothing: it never holds up the run, it ends no run, and the run's digest does not know of it. What it
// cannot keep up with is dropped and counted.
//
// The caller's duties: to give it the clients in the order of their names; to Close it after the last Observe.
package mirror
