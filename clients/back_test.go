package clients_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/internal/shortdir"
	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/transport/stream"
)

// A client whose server or relay does not come back waits for it no longer than it was told. Then it says what to do, and why it does not go elsewhere.
func TestNobodyIsThereAgain(t *testing.T) {
	t.Parallel()
	library, err := filepath.Abs("python")
	require.NoError(t, err)
	for language, command := range map[string][]string{
		"c":      {compile(t, nil, "c/test/survivor.c", object(t, nil))},
		"python": {python(t), "-B", filepath.Join(library, "tests", "survivor.py")},
	} {
		l, err := stream.Unix().Listen("unix://" + filepath.Join(shortdir.Make(t), "s"))
		require.NoError(t, err)
		ends := make(chan error)
		go func() { ends <- letInAndEnd(l) }()
		cmd := exec.CommandContext(t.Context(), command[0], append(command[1:], "step", t.TempDir())...)
		cmd.Env = append(os.Environ(), "METASIM_SERVER="+l.URL(), "METASIM_CLIENT=a", "METASIM_TOKEN=sesame", "PYTHONPATH="+library)
		said, err := cmd.CombinedOutput()
		require.NoError(t, <-ends, language)
		require.Error(t, err, language)
		require.Regexp(t, `client "a": lost the server at [^;]*; it waits 0.001 s for metasim resume, or for its relay\n`, string(said), language)
		require.Contains(t, string(said), "; nobody was at its address again within 0.001 s: use metasim resume, or start its relay there again, as the client knows no other "+
			"address; raise start_timeout if that takes longer", language)
	}
}

// letInAndEnd is a server that lets a client in, which may come back within a millisecond, and is gone.
func letInAndEnd(l wire.Listener) error {
	conn, err := l.Accept()
	if err != nil {
		return err
	}
	packets, err := conn.Read()
	if err == nil {
		if hello, ok := packets[0].Body.(wire.Hello); !ok || !hello.Returns {
			err = fmt.Errorf("the client says %v", packets[0].Body)
		}
	}
	return errors.Join(err, conn.Write([]wire.Packet{{Body: wire.Welcome{Patience: int64(time.Millisecond)}}, {Body: wire.Start{Until: metasim.Infinity}}}), l.Close(), conn.Close())
}
