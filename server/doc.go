// Package server runs a simulation. It accepts clients, gives what they send to the dispatcher, and carries out what the
// dispatcher decides. What a peer is answered, package session decides. This package has what those two do not have:
// goroutines, a clock, connections, a log.
//
// The dispatcher is run by one goroutine at a time, in rounds: everything that waits is stepped, then authorizations are
// computed once, then each connection is written once. Each connection has a reader of its own, and a writer while its
// socket is full, so that no connection waits for another. A connection inside the process needs neither. Real time may
// end a run or slow it down. It never reaches a result.
//
//	srv, err := server.New(config)
//	go srv.Accept(listener)          // any number of listeners
//	go drive(srv)                    // optional: Initialize, AdvanceTo, Time
//	err = srv.Serve(ctx)             // until every client has left, or the run has failed
//	result := srv.Result()
//
// A driven Server is used like a simulator: it is initialized, advanced to a time, and asked for its time. See
// Config.Driven and Pace.
//
// The files, from the top down:
//
//	server.go      the Server: New, Serve, Accept and the readers of connections
//	control.go     for a driver: Initialize, AdvanceTo, Pace; for a person: Pause, Resume, Step
//	snapshot.go    the state of a run and its result, for people
//	turn.go        which goroutine runs the dispatcher; the main loop; a round
//	resume.go      a run that was cut off, from its journal
//	restart.go     clients whose process is replaced
//	lost.go        clients that are lost, peers that do not read
//	dispatch.go    events to the dispatcher, effects to the sessions
//	durable.go     what is held until the record is on the disk
//	permission.go  how far the run may go
//	record.go      observers that write later: the run waits for them, and nobody who has the turn
//	timing.go      when each client did what
//	mailbox.go     what waits for the next round
//	connection.go  a connection, and what waits to be written to it
//	config.go, errors.go
package server
