// Package credit controls the flow from a sender to a receiver: in bytes, with sequence numbers, so that neither needs more memory than one window. It is
// the credit-based flow control of chapter 7 of the ZeroMQ guide (FILEMQ's NOM command: a credit and a sequence number, of 8 bytes each).
//
// A packet carries the number of bytes that its sender sent before it. A [Credit] says the same of the receiver: how far it has read, and how much more it takes.
// Both are totals, so one that is lost, late or comes twice changes nothing that the next one does not say again.
//
// Links may lose and reorder. What a later packet has overtaken counts as read, so lost bytes do not stay in the window.
// A sender whose last packets are all lost sends an empty one after a while, which is taken wherever it stands.
package credit

import "fmt"

// A Credit is what a receiver grants.
type Credit struct {
	Sequence uint64 // bytes that it has read, altogether
	Bytes    uint64 // that it takes beyond them
}

// A Sender knows how much it may send to one receiver.
type Sender struct {
	window uint64 // bytes in flight at most
	sent   uint64 // bytes, altogether
	limit  uint64 // bytes that may have been sent altogether
}

// NewSender returns a sender with a whole window of so many bytes.
func NewSender(window uint64) Sender { return Sender{window: window, limit: window} }

// Free is how many bytes may be sent now.
func (s *Sender) Free() uint64 { return s.limit - s.sent }

// An ExceededError: more was to be sent than there is credit for. It was not sent.
type ExceededError struct{ Bytes, Free uint64 }

func (e *ExceededError) Error() string {
	return fmt.Sprintf("a packet of %d bytes exceeds the credit of %d by %d; wait for more credit", e.Bytes, e.Free, e.Bytes-e.Free)
}

// Send notes that so many bytes are sent now, and returns the sequence number of their packet.
func (s *Sender) Send(bytes uint64) (uint64, error) {
	if free := s.Free(); bytes > free {
		return 0, &ExceededError{bytes, free}
	}
	at := s.sent
	s.sent += bytes
	return at, nil
}

// A BeyondError: a receiver claims to have read what was never sent, or grants more than the window. The credit was not taken.
type BeyondError struct {
	Credit Credit
	Sent   uint64 // bytes, altogether
	Window uint64 // bytes
}

func (e *BeyondError) Error() string {
	if e.Credit.Sequence > e.Sent {
		return fmt.Sprintf("a credit is for %d bytes, and %d were sent: %d too many", e.Credit.Sequence, e.Sent, e.Credit.Sequence-e.Sent)
	}
	return fmt.Sprintf("a credit of %d bytes exceeds the window of %d by %d", e.Credit.Bytes, e.Window, e.Credit.Bytes-e.Window)
}

// Grant takes a credit of the receiver. One that says less than is known changes nothing.
func (s *Sender) Grant(c Credit) error {
	if c.Sequence > s.sent || c.Bytes > s.window {
		return &BeyondError{c, s.sent, s.window}
	}
	s.limit = max(s.limit, c.Sequence+c.Bytes)
	return nil
}

// Totals are what a sender knows beside its window: what it has sent, and may have sent altogether.
func (s *Sender) Totals() (sent, limit uint64) { return s.sent, s.limit }

// Resume lets a sender go on with the totals of another one.
func (s *Sender) Resume(sent, limit uint64) { s.sent, s.limit = sent, limit }

// A Receiver knows what it has read of one sender.
type Receiver struct {
	window uint64
	read   uint64 // bytes, altogether, with what was overtaken
}

// NewReceiver returns a receiver of a sender with this window.
func NewReceiver(window uint64) Receiver { return Receiver{window: window} }

// A FloodError: a sender has sent more than its credit.
type FloodError struct{ Sequence, Bytes, Limit uint64 }

func (e *FloodError) Error() string {
	return fmt.Sprintf("a packet of %d bytes at %d ends %d bytes beyond the credit, which ends at %d", e.Bytes, e.Sequence, e.Sequence+e.Bytes-e.Limit, e.Limit)
}

// Check says whether a packet is within the credit that its sender has.
func (r *Receiver) Check(sequence, bytes uint64) error {
	if limit := r.read + r.window; bytes > 0 && (sequence > limit || bytes > limit-sequence) {
		return &FloodError{sequence, bytes, limit}
	}
	return nil
}

// Read notes that a packet was read, and returns what is to be granted.
func (r *Receiver) Read(sequence, bytes uint64) Credit {
	r.read = max(r.read, sequence+bytes)
	return Credit{r.read, r.window}
}

// Total is what was read altogether, with what was overtaken.
func (r *Receiver) Total() uint64 { return r.read }

// Resume lets a receiver go on with the total of another one.
func (r *Receiver) Resume(read uint64) { r.read = read }
