package live

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/federates/authority/seal"
	"metasim/metasim"
)

// Where there is a homeserver, what datagrams tell counts in the name of who has sealed something over the same connection, and in no other. Who has not is asked to, and told of when it does not.
func TestDatagramsCountForWhoHasSealed(t *testing.T) {
	t.Parallel()
	b, a, _ := newSigning(t)
	tells := func(from string) {
		require.NoError(t, b.post.SendDatagram(pack(from, sightings([]told{{"ball", 7, 9}})[0]...)))
	}
	sees := func() map[string]Sight {
		n := a.told()
		a.commands <- Command{}
		return a.until(n, func(e Event) bool { return e.Event == "owns" }).Sees
	}
	tells("b")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	asked, err := b.post.ReceiveDatagram(ctx)
	require.NoError(t, err)
	require.Equal(t, []byte{helloDatagram}, asked)
	require.Empty(t, sees(), "what b has said is lost")

	for _, text := range []string{"b", "c"} { // c's words, by the key of b, prove nothing
		sealer, err := seal.NewSealer(seal.Link{Instance: "east", Sender: text, Recipient: "a", Channel: transferChannel}, b.key, b.to)
		require.NoError(t, err)
		sealed, err := sealer.Seal(metasim.At(metasim.Time(time.Now().UnixNano())), []byte(helloText))
		require.NoError(t, err)
		require.NoError(t, b.post.Send(t.Context(), pack("b", sealed...)))
	}
	require.Eventually(t, func() bool { tells("b"); return sees()["ball"] == Sight{"b", 7, 9} }, time.Minute, time.Millisecond)
	n := a.told()
	tells("c")
	require.Equal(t, "c", a.refuses(n, "b says that it is c").From)

	b.post = a.dial()
	require.Eventually(t, func() bool {
		tells("b")
		return a.count(func(e Event) bool { return e.From == "b" && e.Error == (&ImpostorError{From: "b"}).Error() }) == 1
	}, time.Minute, 10*time.Millisecond)
}
