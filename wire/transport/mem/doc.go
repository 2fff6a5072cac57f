// Package mem is the transport inside one process: packets are handed over as they are, without becoming bytes.
//
// A Net is where a server (as its wire.Listener) and its clients (as their wire.Dialer) meet; there may be many, and
// they know nothing of each other. Pipe makes a single connection.
//
// # Duties of the caller
//
//  1. Nobody changes a payload that was written or read: writer and reader share it, and so do all recipients of one
//     message.
//  2. Nobody reads the client's own ID in a message of the core: here it arrives as it was written, elsewhere as zero.
//
// # What is promised
//
// Packets are checked as on any other transport, so a program that runs in one process runs over a network. A Write
// waits while a mebibyte lies unread before it, as on a socket whose buffer is full. What was written before a Close
// is still read.
package mem
