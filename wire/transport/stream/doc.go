// Package stream carries the protocol over unix and TCP sockets, and over any other net.Conn.
//
// A unix socket is private to the user (mode 0600); its directory is the caller's to make private too (0700). A socket
// file that a dead server left behind is replaced; one on which somebody listens, and a file that is no socket, are
// not. Close removes the file.
//
// # Duties of the caller
//
//  1. Keep a Read going: its end of file is how this side learns, and tells the other, that the connection is over.
//  2. Close every Conn, whatever Read or Write said.
//
// # What is promised
//
// One Write of a Conn is one write of the socket. What was written before a Close is sent, even though the peer is
// still sending: the connection lingers for a second in the background until the peer has closed too.
package stream
