package wire

// A Direct is a Conn between two parts of one process, which can hand over packets without a goroutine in between: each
// Write of the peer calls the receiver.
type Direct interface {
	Conn
	// Receive has f called with what the peer writes, by the goroutine that writes, instead of keeping it for Read; first
	// with what was written before. The packets and their bodies are f's until it returns. At the end it is called once with the error that
	// Read would return, unless this side closed. f must not write to this Conn, nor close it. Receive is called at most
	// once, and Read not at all after it.
	Receive(f func(packets []Packet, err error))
	// Immediate reports whether the peer has called Receive: from then on a Write hands over at once, and does not wait.
	Immediate() bool
}
