// Package shm carries the protocol between processes of one host through memory that both have mapped: one ring of
// bytes in each direction, and a futex to wait on. What is in the rings is the stream of frames that any socket would
// carry: frames, and what happens around a Close, are wire/transport/stream's.
//
// It is for Linux. Elsewhere, and where Linux gives no sealed memory, Listen and Dial fail with
// errors.ErrUnsupported, and unix:///path does the same more slowly.
//
// # Duties of the caller
//
//  1. Those of wire/transport/stream: keep a Read going, and close every Conn.
//  2. Mind the threads: a Read or a Write that waits holds one. For hundreds of connections to one process use unix,
//     or put more members on a connection.
//
// # What is promised
//
// Only processes of the same user connect. A Write waits while 256 KiB lie unread before it. What was written before a
// Close, or before a death, is read, then comes io.EOF (or what wire.Reader says of half a frame). Nothing is left on
// disk but the socket file of a listener that was killed, which the next one replaces.
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
// All numbers of the greeting are little-endian; those of the memory are the processor's. Then the file is closed on
// both sides, and the socket says no more: it stays open because the kernel ends it when a process dies, however it
// dies. Its end wakes who waits for the peer.
//
// # The memory
//
//	0     words of ring 0, from the client to the server
//	512   words of ring 1, from the server to the client
//	4096  bytes of ring 0, then those of ring 1
//
// The words of a ring are u32 at these offsets. Each has 128 bytes to itself, as processors move memory in pairs of
// lines of 64, and a word that one side polls while the other stores beside it would go back and forth.
//
//	0    tail    bytes written since the beginning, modulo 2^32; the writer stores it after the bytes
//	128  head    bytes read, likewise; the reader stores it after it has copied them out
//	256  reader  1 while the reader sleeps or is about to
//	384  writer  1 while the writer sleeps or is about to
//
// tail - head bytes are unread; they begin at head modulo the size. As the counters run on, a full ring and an empty
// one differ without a spare byte. Who finds nothing to do stores 1 in its own word, looks once more and sleeps on that
// word with FUTEX_WAIT; who has changed an index and finds a 1 there sets it to 0 and wakes it with FUTEX_WAKE. No
// system call is made while both are awake. A writer is woken when half the ring is free, not for each byte.
//
// # The peer is not trusted
//
// It may store what it likes, when it likes. Each side keeps its own index for itself and only shows it in the memory;
// of the peer's index it takes nothing but the distance, and one that is more than the size is a *wire.ProtocolError.
// Bytes are copied out before they are looked at. The file's size is checked and sealed, so nobody truncates it under a
// reader (SIGBUS). A peer that stores 1 to our word while we go to sleep can cost us a wake-up: every sleep ends after a
// second, and looks.
package shm
