package replay

import (
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/record"
	"metasim/record/journal"
	"metasim/wire"
)

// filled returns a session of client 0, and a tape with so many steps of a message each, a millisecond apart.
func filled(steps, size int) *session {
	t := &tape{run: &record.Run{Manifest: &journal.Manifest{Clients: []string{"a", "b"}}}, end: &ending{text: "it ended"}}
	for i := range steps {
		due := metasim.At(metasim.Time(i) * metasim.Millisecond)
		m := metasim.Message{From: 1, Seq: uint64(i), Channel: "A", Due: due, Payload: make([]byte, size)}
		t.given = append(t.given, step{[]*metasim.Deliver{{To: 0, Number: uint64(i + 1), Message: m}}, due.Add(metasim.Millisecond)})
	}
	return &session{check: check{name: "a", tape: t, until: metasim.Infinity}, met: map[metasim.ClientID]bool{}}
}

// said returns how many deliveries a session has to say, and how often it authorizes, and forgets them.
func (s *session) said() (deliveries, authorizations int) {
	for _, p := range s.pass {
		switch p.Body.(type) {
		case *metasim.Deliver:
			deliveries++
		case *metasim.Authorize:
			authorizations++
		}
	}
	s.pass = nil
	return deliveries, authorizations
}

// TestNobodyIsAuthorizedBeforeItWaits: so it was then.
func TestNobodyIsAuthorizedBeforeItWaits(t *testing.T) {
	s := filled(3, 10)
	require.NoError(t, s.reports(metasim.Report{}, nil))
	require.Empty(t, s.pass)
	require.NoError(t, s.reports(metasim.Report{}, &metasim.PollWait{Want: metasim.Infinity, Messages: true}))
	require.Equal(t, wire.Introduce{Client: 1, Name: "b"}, s.pass[0].Body)
	deliveries, authorizations := s.said()
	require.Equal(t, [2]int{3, 1}, [2]int{deliveries, authorizations})
}

// TestWindow: a client is given ahead of what it has handled, but not without bound.
func TestWindow(t *testing.T) {
	const size = 100_000
	s := filled(100, size)
	poll := &metasim.PollWait{Want: metasim.Infinity, Messages: true}
	require.NoError(t, s.reports(metasim.Report{}, poll))
	n, _ := s.said()
	require.Equal(t, aheadBytes/(size+overhead)+1, n)
	require.NoError(t, s.reports(metasim.Report{Acked: 4}, nil))
	more, authorizations := s.said()
	require.Equal(t, [2]int{4, 1}, [2]int{more, authorizations})
	require.NoError(t, s.reports(metasim.Report{Acked: 4}, nil))
	require.Empty(t, s.pass)
	require.ErrorContains(t, s.reports(metasim.Report{Acked: 3}, nil), "acknowledged delivery 3, of 4 to")
	require.ErrorContains(t, s.reports(metasim.Report{Acked: 99}, nil), "mend the client")
	for acked := uint64(n + more); !s.over; acked = s.first + uint64(len(s.given)) {
		require.NoError(t, s.reports(metasim.Report{Acked: acked}, poll))
	}
	require.EqualValues(t, 100, s.Delivered)
	require.Equal(t, "it ended", s.End)
}

// TestWaitForATime: what is due up to the instant that a client waits for is given, however much that is.
func TestWaitForATime(t *testing.T) {
	s := filled(100, 100_000)
	require.NoError(t, s.reports(metasim.Report{}, &metasim.PollWait{Want: metasim.At(50 * metasim.Millisecond)}))
	n, _ := s.said()
	require.Equal(t, 51, n)
}
