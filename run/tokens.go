package run

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"metasim/internal/atomicfile"
	"metasim/record/journal"
	"metasim/scenarios"
)

// tokensFile is where the join tokens of clients from other hosts are while the run goes on, in its directory.
const tokensFile = "tokens"

// boundTokens are the join tokens of clients that are started elsewhere, one for each, and the file that tells them.
type boundTokens struct {
	byName map[string]string // nil: they use the token for all
	file   string
}

// bind makes a token for each client that is started elsewhere, where the options ask for that, or where other hosts reach the
// listener and the user has not chosen a token.
func bind(o *Options, sc *scenarios.Scenario, dir journal.Dir) (t boundTokens, err error) {
	t.file = o.Tokens
	if t.file == "" {
		if o.Token != "" || !o.beyondHost() {
			return boundTokens{}, nil
		}
		t.file = dir.File(tokensFile)
	}
	t.byName = map[string]string{}
	var lines strings.Builder
	for i := range sc.Clients {
		if c := &sc.Clients[i]; c.External || o.Serve {
			t.byName[c.Name] = rand.Text()
			fmt.Fprintf(&lines, "%s %s\n", c.Name, t.byName[c.Name])
		}
	}
	if err := atomicfile.Write(t.file, []byte(lines.String()), 0o600); err != nil {
		return t, fmt.Errorf("the join tokens cannot be written: %w; name a file in a directory that exists", err)
	}
	return t, nil
}

// forget removes the file: its tokens are good for this run alone.
func (t *boundTokens) forget() error {
	if t.file == "" {
		return nil
	}
	if err := os.Remove(t.file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
