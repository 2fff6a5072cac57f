package credit

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Whatever is lost, doubled or late, a sender never has more in flight than the window, a receiver never finds it beyond its credit,
// and once links lose nothing everything goes on.
func TestWindowHolds(t *testing.T) {
	type packet struct{ sequence, bytes uint64 }
	rapid.Check(t, func(t *rapid.T) {
		window := uint64(rapid.IntRange(1, 100).Draw(t, "window"))
		s, r := NewSender(window), NewReceiver(window)
		var packets []packet
		var credits []Credit
		sent := uint64(0)
		send := func(n uint64) {
			at, err := s.Send(n)
			require.NoError(t, err)
			require.Equal(t, sent, at)
			sent += n
			require.LessOrEqual(t, sent-r.read, window, "in flight")
			packets = append(packets, packet{at, n})
		}
		read := func(p packet) {
			require.NoError(t, r.Check(p.sequence, p.bytes))
			before := r.read
			c := r.Read(p.sequence, p.bytes)
			require.GreaterOrEqual(t, c.Sequence, before)
			credits = append(credits, c)
		}
		for range rapid.IntRange(0, 100).Draw(t, "steps") {
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				send(uint64(rapid.IntRange(0, int(s.Free())).Draw(t, "bytes")))
			case 1:
				if len(packets) > 0 {
					at := rapid.IntRange(0, len(packets)-1).Draw(t, "packet")
					read(packets[at])
					if rapid.Bool().Draw(t, "once") {
						packets = append(packets[:at:at], packets[at+1:]...)
					}
				}
			case 2:
				if len(credits) > 0 {
					require.NoError(t, s.Grant(credits[rapid.IntRange(0, len(credits)-1).Draw(t, "credit")]))
				}
			}
		}
		packets = nil // all lost: an empty packet finds out
		send(0)
		read(packets[0])
		require.NoError(t, s.Grant(credits[len(credits)-1]))
		require.Equal(t, window, s.Free())
	})
}

// What exceeds the credit is refused, says by how much, and changes nothing.
func TestBeyondTheWindow(t *testing.T) {
	s, r := NewSender(10), NewReceiver(10)
	_, err := s.Send(11)
	require.EqualError(t, err, "a packet of 11 bytes exceeds the credit of 10 by 1; wait for more credit")
	_, err = s.Send(10)
	require.NoError(t, err)
	require.EqualError(t, s.Grant(Credit{13, 10}), "a credit is for 13 bytes, and 10 were sent: 3 too many")
	require.EqualError(t, s.Grant(Credit{10, 14}), "a credit of 14 bytes exceeds the window of 10 by 4")
	require.Zero(t, s.Free())
	require.EqualError(t, r.Check(4, 9), "a packet of 9 bytes at 4 ends 3 bytes beyond the credit, which ends at 10")
	require.Error(t, r.Check(1<<63, 1<<63), "the sum is too large for a number")
	require.Error(t, r.Check(0, 1<<64-1))
	require.NoError(t, r.Check(4, 6))
}

// One receiver of a hundred that reads a tenth as fast gets a tenth; all others get what they would get without it, which is almost all that a link carries
// where the window is what is on its way.
func TestOneSlowOfAHundred(t *testing.T) {
	const receivers, window, perStep, delay, steps = 100, 4000, 200, 9, 400 // bytes, bytes per step, steps
	got := func(slow int) (read [receivers]uint64) {
		type late struct {
			due             int
			sequence, bytes uint64
		}
		for i := range receivers {
			s, r := NewSender(window), NewReceiver(window)
			var there, waits []late // on the way, and at the receiver
			var back []Credit
			var backDue []int
			for now := range steps {
				for len(backDue) > 0 && backDue[0] <= now {
					if err := s.Grant(back[0]); err != nil {
						t.Fatal(err)
					}
					back, backDue = back[1:], backDue[1:]
				}
				if n := min(perStep, s.Free()); n > 0 {
					at, err := s.Send(n)
					if err != nil {
						t.Fatal(err)
					}
					there = append(there, late{now + delay, at, n})
				}
				for len(there) > 0 && there[0].due <= now {
					if err := r.Check(there[0].sequence, there[0].bytes); err != nil {
						t.Fatal(err)
					}
					waits, there = append(waits, there[0]), there[1:]
				}
				for (i != slow || now%10 == 0) && len(waits) > 0 {
					read[i] += waits[0].bytes
					back, backDue = append(back, r.Read(waits[0].sequence, waits[0].bytes)), append(backDue, now+delay)
					waits = waits[1:]
					if i == slow {
						break
					}
				}
				held := uint64(0)
				for _, w := range waits {
					held += w.bytes
				}
				if held > window {
					t.Fatalf("a receiver holds %d bytes", held)
				}
			}
		}
		return read
	}
	with, without := got(17), got(-1)
	for i := range receivers {
		if i == 17 {
			require.Less(t, with[i], without[i]/8)
			continue
		}
		require.Equal(t, without[i], with[i])
		require.GreaterOrEqual(t, with[i], uint64((steps-delay)*perStep*95/100))
	}
}
