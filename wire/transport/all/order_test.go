package all_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/wire"
)

// everyBody sends one of each, both ways. Empty payloads and lists may come back as nil.
func everyBody(t *testing.T, on tested) {
	client, server := pair(t, on)
	at := metasim.Instant{Time: 5, Step: 2}
	report := metasim.Report{Now: at, NoSendBefore: at, NextEvent: metasim.Infinity, Acked: 7}
	sent := []wire.Packet{
		{Member: 1, Body: wire.Hello{Version: 1, Name: "a", Token: "t", Publications: []string{"X"},
			Subscriptions: []string{".*"}, Reaction: 3}},
		{Member: 2, Body: wire.Welcome{Scenario: "s", Seed: 1 << 63}},
		{Member: 3, Body: wire.Start{Until: metasim.Infinity}},
		{Body: wire.Introduce{Client: 1<<32 - 1, Name: "b"}},
		{Body: wire.Goodbye{}},
		{Body: wire.Refuse{Reason: wire.RunFailed, Text: "it is over"}},
		{Body: &metasim.Send{Channel: "X", Sent: at, Payload: []byte("payload")}},
		{Body: &metasim.Send{Channel: "X"}},
		{Body: &metasim.Promise{NoSendBefore: metasim.Infinity}},
		{Body: &metasim.Advance{Report: report}},
		{Body: &metasim.PollWait{Report: report, Want: at, Messages: true}},
		{Body: &metasim.PollWait{}},
		{Body: &metasim.Leave{Now: at, Acked: 1, Result: []byte("{}")}},
		{Body: &metasim.Deliver{Number: 1, Message: metasim.Message{
			From: 1, Seq: 2, Channel: "X", Sent: at, Due: at.Add(1), Payload: []byte{0},
		}}},
		{Member: 1<<32 - 1, Body: &metasim.Authorize{Until: at}},
	}
	write(t, client, sent...)
	require.Equal(t, sent, readN(t, server, len(sent)))
	write(t, server, sent...)
	require.Equal(t, sent, readN(t, client, len(sent)))
}

// manyMembers writes a packet for each of a thousand members at once.
func manyMembers(t *testing.T, on tested) {
	client, server := pair(t, on)
	pass := make([]wire.Packet, 1000)
	for i := range pass {
		pass[i] = numbered(i, i%100)
	}
	write(t, server, pass...)
	for i, p := range readN(t, client, len(pass)) {
		require.Equal(t, uint32(i), p.Member)
		checkNumbered(t, i, i%100, p)
	}
}

// smallWrites checks the order over many writes, and that the writer may use its slice again.
func smallWrites(t *testing.T, on tested) {
	client, server := pair(t, on)
	const n = 1000
	done := inBackground(func() (err error) {
		one := make([]wire.Packet, 1)
		for i := 0; i < n && err == nil; i++ {
			one[0] = numbered(i, 8)
			err = client.Write(one)
		}
		return err
	})
	for i, p := range readN(t, server, n) {
		checkNumbered(t, i, 8, p)
	}
	require.NoError(t, <-done)
}

// bothWays has both ends send n packets of a size at the same time, and checks what arrives.
func bothWays(t *testing.T, on tested, n, size int) {
	a, b := pair(t, on)
	done := make(chan error, 2)
	for _, c := range []wire.Conn{a, b} {
		go func() {
			var errs []error
			for i := range n {
				errs = append(errs, c.Write([]wire.Packet{numbered(i, size)}))
			}
			done <- errors.Join(errs...)
		}()
	}
	var wg sync.WaitGroup
	for _, c := range []wire.Conn{a, b} {
		wg.Go(func() {
			for i := 0; i < n; {
				packets, err := c.Read()
				if err != nil {
					t.Error(err)
					return
				}
				for _, p := range packets {
					if body := p.Body.(*metasim.Deliver); body.Number != uint64(i) || len(body.Message.Payload) != size {
						t.Errorf("packet %d has number %d and %d bytes", i, body.Number, len(body.Message.Payload))
					}
					i++
				}
			}
		})
	}
	wg.Wait()
	require.NoError(t, errors.Join(<-done, <-done))
}

// refusesBadPackets checks that a packet which cannot travel is refused, that nothing of the write is sent, and that the
// connection still works.
func refusesBadPackets(t *testing.T, on tested) {
	client, server := pair(t, on)
	for _, body := range []wire.Body{
		nil,
		&metasim.Join{},
		&metasim.Send{Channel: "\xff"},
		&metasim.Leave{Cut: true},
		&metasim.Send{Payload: make([]byte, wire.MaxPayload+1)},
	} {
		var refused *wire.ProtocolError
		require.ErrorAs(t, client.Write([]wire.Packet{{Body: wire.Goodbye{}}, {Body: body}}), &refused, "a %T", body)
	}
	write(t, client, wire.Packet{Body: &metasim.Leave{}})
	require.Equal(t, &metasim.Leave{}, readN(t, server, 1)[0].Body)
}

// manyConnections has 64 clients at once, each with its own answer.
func manyConnections(t *testing.T, on tested) {
	l := listen(t, on)
	const n = 64
	var wg sync.WaitGroup
	wg.Go(func() {
		for range n {
			c, err := l.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			wg.Go(func() { echoOnce(t, c) })
		}
	})
	for i := range n {
		wg.Go(func() {
			c, err := on.dial(t.Context(), l)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = c.Close() }() // the echo was read
			if err := c.Write([]wire.Packet{numbered(i, 100)}); err != nil {
				t.Error(err)
			}
			packets, err := c.Read()
			if err != nil || len(packets) != 1 || packets[0].Member != uint32(i) {
				t.Errorf("connection %d got %v, %v", i, packets, err)
			}
		})
	}
	wg.Wait()
}

// echoOnce sends the first packets back, then closes when the peer does.
func echoOnce(t *testing.T, c wire.Conn) {
	packets, err := c.Read()
	if err != nil {
		t.Error(err)
	} else if err := c.Write(packets); err != nil {
		t.Error(err)
	}
	if _, err := c.Read(); err == nil {
		t.Error("more came than was sent")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// traffic checks that one end counts as out what the other counts as in: frames and bytes, of any size, and wherever the
// stream is cut.
func traffic(t *testing.T, on tested) {
	client, server := pair(t, on)
	const hello = 1 // pair's
	count := 0
	for _, size := range []int{0, 1, 100, 4000, 70_000, 300_000} {
		for range 20 {
			// A large packet is read while it is written.
			up := inBackground(func() error { return client.Write([]wire.Packet{numbered(count, size), numbered(count+1, 0)}) })
			readN(t, server, 2)
			require.NoError(t, <-up)
			down := inBackground(func() error { return server.Write([]wire.Packet{numbered(count, 2*size)}) })
			readN(t, client, 1)
			require.NoError(t, <-down)
			count++
		}
	}
	frames, err := new(wire.Encoder).Frames([]wire.Packet{numbered(0, 5000)})
	require.NoError(t, err)
	require.NoError(t, server.WriteFrames(frames))
	readN(t, client, 1)
	if p, ok := server.(wire.Prompt); ok {
		// In two parts, as on a full connection: first without waiting, then the rest.
		const inTheLength = 2
		n, err := p.TryWriteFrames(frames[:inTheLength])
		require.NoError(t, err)
		require.NoError(t, p.WriteFrames(frames[n:]))
		readN(t, client, 1)
	}
	closeBoth(t, client, server)
	there, here := client.Traffic(), server.Traffic()
	require.Equal(t, there, wire.Traffic{FramesIn: here.FramesOut, FramesOut: here.FramesIn, BytesIn: here.BytesOut, BytesOut: here.BytesIn})
	if here.FramesIn != uint64(hello+count) || here.FramesOut < uint64(count+1) || here.FramesOut > uint64(count+2) {
		t.Fatalf("%+v, where %d and %d were written", here, hello+count, count+1)
	}
	if payloads := uint64(20 * (0 + 1 + 100 + 4000 + 70_000 + 300_000)); here.BytesIn < payloads || here.BytesIn > payloads+payloads/50 ||
		here.BytesOut < 2*payloads+5000 || here.BytesOut > 2*payloads+payloads/50 {
		t.Fatalf("%+v, where %d bytes of payload came in", here, payloads)
	}
}
