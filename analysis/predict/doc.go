// Package predict says how long a recorded run would take if something were different: a delay, a promise, a reaction time, the speed of a
// client, the number of cores.
//
//	m := predict.New(timeline)
//	change, err := m.Parse("link(camera->planner).delay=5ms")
//	prediction, err := m.Predict(change)
//
// A prediction is a discrete-event simulation. It repeats every act of every client (what it computed, sent and promised) with the real
// dispatcher, on a model of the machine: computing, writing and reading take a core for some time.
//
//	predict.go    the types
//	model.go      New, Predict
//	fit.go        the costs of communication that explain how long the run took
//	costs.go      what communication costs usually
//	setup.go      a simulator of a run with changes
//	period.go     the log of a client with another period
//	simulator.go  the simulation: events, cores, rounds of the server, and the steps of a client: compute, write, wait, resume
//	client.go     the model of a client: its timers, messages, acts
//	cores.go      requests for a core; what passes between a client and the server, and what that costs
//	rank.go       Rank: which changes help most
//	change.go     the language of changes, and delays with changes
//
// # Duties of the caller
//
//  1. The Timeline is complete: trace.Read returned it.
//  2. One goroutine at a time uses a Model.
package predict
