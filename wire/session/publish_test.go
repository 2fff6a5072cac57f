package session_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/session"
)

// What is published is what the slice held then, also where the reader keeps it after Written. PublishOwned hands the slice
// over.
func TestPublishCopies(t *testing.T) {
	for _, encoded := range []bool{false, true} {
		var d session.Declaration
		out := session.Outbound{Encoded: encoded}
		c, err := d.Join("a", "", &out)
		require.NoError(t, err)
		out.Written()
		var in session.Inbound
		require.NoError(t, in.Add([]wire.Packet{{Body: wire.Start{Until: metasim.Infinity}}}, &session.Names{}))
		require.NoError(t, c.Receive(&in))
		buffer := []byte("first")
		payloads := func() (all [][]byte) {
			for _, p := range out.Packets() {
				all = append(all, p.Body.(*metasim.Send).Payload)
			}
			return all
		}
		require.NoError(t, c.Publish("X", buffer))
		copy(buffer, "other")
		require.NoError(t, c.Publish("X", buffer))
		require.NoError(t, c.PublishOwned("X", buffer))
		first := payloads()
		require.Equal(t, [][]byte{[]byte("first"), []byte("other"), []byte("other")}, first)
		require.Same(t, &buffer[0], &first[2][0])
		out.Written()
		require.NoError(t, c.Publish("X", []byte("third")))
		if encoded {
			require.Equal(t, "third", string(first[0]), "its memory is used again")
		} else {
			require.Equal(t, "first", string(first[0]), "the reader has it")
		}
	}
}
