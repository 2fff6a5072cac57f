package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/transport/stream"
)

// A peer has joined, and then does what no client does.
type peer struct {
	wire.Conn
	raw net.Conn
}

// misbehave serves a scenario with one external client, joins as it, and returns how the run ended.
func misbehave(t *testing.T, act func(t *testing.T, p *peer)) (outcome, ending) {
	t.Helper()
	s := newStage(t)
	s.file("p.yaml", `name: flood
until: 10s
clients:
  - {name: odd, external: true}
  - {name: source, model: source, with: {channel: A, period: 25ms, count: 160, size: 1000000}}
`)
	p := s.start([]string{"METASIM_TOKEN=sesame"}, "run", "p.yaml", "--json", "--transport", "tcp", "--ready-file", "r")
	raw, err := net.Dial("tcp", strings.TrimPrefix(p.readyURL("r"), "tcp://"))
	require.NoError(t, err)
	conn := stream.New(raw, "server")
	// Closed for the second time, mostly.
	defer func() { _ = conn.Close() }()
	require.NoError(t, conn.Write([]wire.Packet{{Body: wire.Hello{
		Version: wire.Version, Name: "odd", Token: "sesame", Subscriptions: []string{"A"},
	}}}))
	until[wire.Start](t, conn)
	act(t, &peer{conn, raw})
	e := p.wait()
	require.Equal(t, 1, e.status)
	var o outcome
	e.object(t, &o)
	require.Contains(t, o.Error, `"odd"`)
	require.NotEqual(t, "lost", o.Clients[1].Exit, "the others are not to blame")
	s.clean()
	require.Equal(t, 0, s.metasim("log", o.RunDir).status, "the journal is readable")
	return o, e
}

// One who asks for more than its outbox holds, and reads nothing, is lost: it cannot fill the server's memory.
func TestStopsReading(t *testing.T) {
	o, _ := misbehave(t, func(t *testing.T, p *peer) {
		end := metasim.At(metasim.Time(2 * time.Second))
		poll := &metasim.PollWait{Report: metasim.Report{NoSendBefore: end, NextEvent: end}, Want: end}
		require.NoError(t, p.Write([]wire.Packet{{Body: poll}}))
	})
	require.Contains(t, o.Error, "without reading")
	require.Equal(t, "lost", o.Clients[0].Exit)
}

func TestBadFrames(t *testing.T) {
	for name, c := range map[string]struct {
		bytes string
		says  string
	}{
		"4 GiB":     {"\xff\xff\xff\xff", "4294967295 bytes"},
		"garbage":   {"\x04\x00\x00\x00\xff\xff\xff\xff", "not the protocol"},
		"truncated": {string(binary.LittleEndian.AppendUint32(nil, 100)) + "half", "not the protocol"},
		"nothing":   {"", "the connection was closed"},
	} {
		t.Run(name, func(t *testing.T) {
			o, e := misbehave(t, func(t *testing.T, p *peer) {
				_, err := io.Copy(p.raw, bytes.NewReader([]byte(c.bytes)))
				require.NoError(t, err)
				require.NoError(t, p.raw.(*net.TCPConn).CloseWrite())
			})
			require.Contains(t, o.Error, c.says)
			require.Equal(t, 1, strings.Count(e.err[strings.Index(e.err, "metasim: "):], "\n"), "one sentence")
		})
	}
}

// One who breaks a rule of the simulation is told which, and so is everybody.
func TestRuleBroken(t *testing.T) {
	o, _ := misbehave(t, func(t *testing.T, p *peer) {
		require.NoError(t, p.Write([]wire.Packet{{Body: &metasim.Send{Channel: "UNDECLARED"}}}))
		for {
			packets, err := p.Read()
			for _, packet := range packets {
				if r, ok := packet.Body.(wire.Refuse); ok {
					require.Equal(t, wire.RuleBroken, r.Reason)
					require.Contains(t, r.Text, "UNDECLARED")
					return
				}
			}
			require.False(t, errors.Is(err, io.EOF), "it was not told")
			require.NoError(t, err)
		}
	})
	require.Contains(t, o.Error, "UNDECLARED")
}
