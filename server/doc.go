// Package server runs a simulation: it accepts clients, feeds what they say to the dispatcher, and carries out what the
// dispatcher decides.
//
// One goroutine at a time runs the dispatcher, the one that has the turn, in batches: whatever waits is stepped, then
// authorizations are computed once, then each connection is written once. Each connection has a reader of its own, and a
// writer while its socket is full, so that nobody waits for somebody else's; one inside the process needs neither. The
// shell decides nothing: real time may end a run, or slow it down, but it never reaches a result.
//
//	srv, err := server.New(config)
//	go srv.Accept(listener)          // any number of listeners
//	go drive(srv)                    // optional: Initialize, AdvanceTo, Time
//	err = srv.Serve(ctx)             // until every client has left, or the run has failed
//	result := srv.Result()
//
// A Server shows the face of a simulator: it can be initialized, advanced to a time, and asked for its time; see
// Config.Driven and Pace.
package server
