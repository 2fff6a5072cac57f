// Package shm carries the protocol between processes of one host through memory that both have mapped: one ring of
// bytes in each direction, and a futex to wait on. The rings carry the same frames as a socket; package stream encodes
// them, and closes the connection.
//
// It is for Linux. On other systems, and where Linux has no sealed memory, Listen and Dial fail with
// errors.ErrUnsupported; the transport unix is the fallback.
//
// # Duties of the caller
//
//  1. The same as for package stream: always have a Read waiting, and close every Conn.
//  2. A Read or a Write that waits occupies a thread. For hundreds of connections to one process use unix, or put more
//     members on a connection.
//
// # What is promised
//
// Only processes of the same user connect. A Write waits while 256 KiB are unread, or 16 files. What was written before a side closed
// or died is read, then comes io.EOF (or, inside a frame, the error of wire.Reader). Nothing is left on disk but the socket
// file of a listener that was killed, which the next one replaces.
//
// # How a connection begins and ends
//
// The listener's URL is a unix socket. The client creates the memory (memfd_create, which has no name), seals its size
// and sends the file over the socket with SCM_RIGHTS, beside a greeting of 16 bytes; the server maps it and answers
// with the same greeting:
//
//	0   "metasim\x00"
//	8   u32  version of this layout: 1
//	12  u32  bytes of each ring: a power of two from 16 to 16 MiB
//
// All numbers of the greeting are little-endian; those of the memory have the processor's order. Then both sides close the
// file. Of the socket's bytes nothing more is used but what comes with files: it stays open because the kernel closes it when a process dies, and that wakes
// the other side.
//
// # The memory
//
//	0     words of ring 0, from the client to the server
//	512   words of ring 1, from the server to the client
//	4096  bytes of ring 0, then those of ring 1
//
// The words of a ring are u32 at these offsets. Each has 128 bytes to itself: processors load pairs of 64-byte lines, and
// would send a line back and forth when one side polls a word in it and the other side stores to another.
//
//	0    tail    bytes written since the beginning, modulo 2^32; the writer stores it after the bytes
//	128  head    bytes read since the beginning, modulo 2^32; the reader stores it after it has copied them out
//	256  reader  1 while the reader sleeps or is about to
//	384  writer  1 while the writer sleeps or is about to
//
// and these are at the offsets 1024 (of ring 0) and 1536 (of ring 1):
//
//	0    files   files sent since the beginning, modulo 2^32; the writer stores it after it has sent the file
//	128  opened  files of these that the reader has reached, likewise; the reader stores it
//
// At 2048 the client stores 1 before it sends the memory, if it takes files, and at 2176 the server before it answers.
//
// tail - head bytes are unread; they begin at head modulo the size. The counters do not wrap at the size, so a full ring
// and an empty one differ without a spare byte. A side that has nothing to do stores 1 in its own word, looks once more
// and sleeps on that word with FUTEX_WAIT. A side that has changed an index and finds a 1 in the other's word sets it to 0
// and wakes the other with FUTEX_WAKE. While both are awake there is no system call. A writer is woken when half the ring
// is free, not for each byte.
//
// # Files
//
// To a peer that takes files a write of 1 MiB or more goes as a sealed file (docs/protocol.md says of what kind): its descriptor is sent over the socket, beside
// the value of tail then (u32, little-endian), and files is raised. In the stream the content of the file is behind the bytes before that tail. A reader loads
// tail, then files: so it knows of each file before the bytes that it sees. The writer is at most 16 files ahead of the reader, and waits for it as it waits for room.
// A peer that takes no files has zeros in its words, and is sent bytes: nothing is different for it.
//
// # The peer is not trusted
//
// The peer may store anything at any time. Each side keeps its own index in its own memory and stores only copies; it uses
// the peer's index for the distance alone, and a distance above the size is a *wire.ProtocolError. Bytes are copied out
// before they are decoded. The size of the file is checked and sealed, so that no process can truncate it (SIGBUS). A peer
// that changes the word on which this side sleeps can delay a wake-up: every sleep ends after a second. A peer that claims a file and sends none delays itself
// alone. What comes over the socket beside files, and a seventeenth file, are as if the peer had closed.
package shm

import "metasim/wire/transport"

// Transport is the transport of "shm:///path", where only this user may connect. Its fallback is unix.
func Transport() transport.Transport {
	return transport.Transport{Scheme: "shm", Private: true, Fallback: "unix", Listen: listenURL, Dial: dialURL}
}
