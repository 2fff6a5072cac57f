package wire_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/internal/shortdir"
	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/transport"
	"metasim/wire/transport/stream"
)

// A client in another language, written from docs/protocol.md alone, writes exactly the bytes of ponger in the golden session,
// over unix and over TCP.
func TestPythonClient(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("SKIPPED LOUDLY: no python3: no client but our own is tested; install python3")
	}
	dir := shortdir.Make(t)
	table := transport.Table{stream.Unix(), stream.TCP()}
	for name, address := range map[string]string{"unix": filepath.Join(dir, "a b"), "tcp": ""} {
		t.Run(name, func(t *testing.T) {
			l, err := table.Listen(name, address)
			require.NoError(t, err)
			defer func() { require.NoError(t, l.Close()) }()
			stderr, err := runPython(t, python, l, ponger())
			require.NoError(t, err, stderr)
		})
	}
	t.Run("refused", func(t *testing.T) {
		l, err := stream.TCP().Listen("tcp://127.0.0.1:0")
		require.NoError(t, err)
		defer func() { require.NoError(t, l.Close()) }()
		refused := ponger()[:2]
		refused[1] = turn{"server", "", []wire.Packet{{Body: wire.Refuse{Reason: wire.BadToken, Text: "who are you?"}}}}
		stderr, err := runPython(t, python, l, refused)
		require.Error(t, err)
		require.Equal(t, "client.py: refused: who are you?\n", stderr)
	})
}

// ponger returns the part of the golden session with ponger, as the only member of a connection.
func ponger() []turn {
	var session []turn
	for _, turn := range pingPong() {
		var own []wire.Packet
		for _, p := range turn.packets {
			if p.Member != 2 && p.Body != (wire.Introduce{Client: 0, Name: "pinger"}) {
				continue
			}
			if leave, ok := p.Body.(*metasim.Leave); ok {
				leave.Result = []byte(`{"echoed": 1}`)
				p.Body = leave
			}
			own = append(own, wire.Packet{Body: p.Body})
		}
		if turn.packets = own; len(own) > 0 {
			session = append(session, turn)
		}
	}
	return session
}

// runPython is the server of a session with client.py. It checks what that writes, and returns its stderr.
func runPython(t *testing.T, python string, l wire.Listener, session []turn) (string, error) {
	t.Helper()
	var stderr bytes.Buffer
	client := exec.CommandContext(t.Context(), python, "testdata/client.py", "echo", "PING", "PONG")
	client.Env = append(os.Environ(), "METASIM_SERVER="+l.URL(), "METASIM_CLIENT=ponger", "METASIM_TOKEN=secret")
	client.Stderr = &stderr
	require.NoError(t, client.Start())
	conn, err := l.Accept()
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close()) }()
	for _, turn := range session {
		if turn.who == "server" {
			require.NoError(t, conn.Write(turn.packets))
			continue
		}
		var said []wire.Packet
		for len(said) < len(turn.packets) {
			packets, err := conn.Read()
			require.NoError(t, err)
			said = append(said, packets...)
		}
		require.Equal(t, turn.packets, said, turn.story)
	}
	err = client.Wait()
	return stderr.String(), err
}
