package session

import "metasim/metasim"

// A Message is one that a client was given.
type Message struct {
	From    string // the sender's name
	Channel string
	Seq     uint64          // counts the sender's publishes, from 0
	Sent    metasim.Instant // when it was published
	Due     metasim.Instant // when it arrived: the instant at which the client sees it
	Payload []byte          // not to be changed
}
