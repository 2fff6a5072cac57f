// Package journal keeps a run on disk: a directory with a manifest, which says what the run was, and a journal, which has every
// input of the dispatcher and every effect in order. From a journal a run can be replayed, checked and explained.
//
//	dir, err := journal.NextDir("runs", "ping-pong")   // runs/ping-pong-1
//	w, err := dir.NewJournal(names)
//	err = w.Observe(wall, event, d.Step(event))        // of each Step
//	err = w.Observe(wall, nil, d.Settle())             // of each Settle
//
// A [Reader] returns the same calls, one [Entry] each. A Settle without effects changed nothing and is left out.
//
// Beside the journal lies an [Index], by which two runs are compared without reading their journals whole. A [Scanner] reads a part
// of a journal.
//
//	journal.go    what a journal and a manifest have; errors; the numbers of the format
//	manifest.go   the file of a manifest, and its checksum
//	dir.go        the directory of a run and its files
//	writer.go     frames: length, checksum, body
//	backlog.go    what waits for the disk, and the goroutine that writes it
//	reader.go     the same, back; a part of a journal
//	growing.go    the journal of a run that goes on
//	inputs.go     the events alone, for a dispatcher that comes to the effects itself
//	own.go        what a journal holds of one client alone
//	check.go      what a dispatcher can have done: the rest is damage, though its checksum is right
//	messages.go   the fields of events and effects: one table for both directions
//	encode.go     events and effects as bodies
//	decode.go     the same, back; the errors in them
//	proto.go      the wire format of Protocol Buffers
//	inflight.go   messages that effects may still refer to
//	index.go      what each client received and sent, and its file
//	history.go    the rolling hash of that
//
// # Duties of the caller
//
//  1. Use a Writer from one goroutine. The package reads no clock: the caller gives the wall-clock times.
//  2. Close at the end. Check the errors, or at least that of Close: the first error stays.
//  3. Write the manifest when the run begins and again when it has ended (see [Manifest]). Only the Finish effect marks the end of a
//     journal: where it is missing the run was killed, even if the last record is complete.
//
// # The file, byte by byte
//
// All integers of the frame are little-endian. A file is a header and any number of records:
//
//	8 bytes  magic "MSIMJRNL"
//	u32      version of the format: 1
//
//	u32      length of the body: 1 to 269484032
//	u32      CRC-32C (Castagnoli) of the body
//	body     a Record of journalpb/journal.proto, in the encoding of Protocol Buffers
//
// The body begins with its kind (bytes 08 01, 08 02 or 08 03), then comes the wall clock, then the event, then the effects. A field
// with its zero value is left out. The kinds are:
//
//	1 STEP    one event, and the effects of its Step
//	2 SETTLE  the effects of a Settle
//	3 MORE    more effects of the entry before, which had many; its wall clock means nothing
//
// An entry is a STEP or a SETTLE with the MOREs that follow it.
//
// A payload is in the file once, in its Send. The sequence number of a Send is not written: it is the count of the Sends of that
// client before it, from 0. Queue, Lose and Deliver name (from, seq). A reader may forget a message when every queued copy was
// delivered or lost or its recipient left, and at the end of the entry of its Send if no copy was queued. What is queued for a client
// after its Leave is never delivered.
//
// For example, client 1 publishes "hi" on A at 5 ns (step 0), 3 ns after the run began on the wall; it is queued for
// client 0, due at 7 ns, step 2:
//
//	1f 00 00 00                 length 31
//	a3 a8 2f 7b                 CRC-32C
//	08 01                       kind: STEP
//	10 03                       wall: 3 ns
//	2a 0d                       event: Send, 13 bytes
//	   08 01                       client 1
//	   12 01 41                    channel "A"
//	   1a 02 08 05                 sent: an Instant of 2 bytes, time 5
//	   22 02 68 69                 payload "hi"
//	7a 0a                       effect, 10 bytes
//	   0a 08                       Queue, 8 bytes
//	      10 01                       from 1 (to and seq are 0 and left out)
//	      22 04 08 07 10 02           due: time 7, step 2
//
// A reader refuses what it does not understand, because a journal that is read in part would replay as another run. It checks lengths
// before it allocates, and allocates in proportion to the bytes of the file. A reader that knows the clients of the run refuses what
// their dispatcher cannot have done, too.
package journal
