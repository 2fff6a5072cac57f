package run

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"metasim/internal/atomicfile"
	"metasim/record/journal"
	"metasim/scenarios"
)

// tokensFile is where the join tokens of clients from other hosts are while the run goes on, in its directory.
const tokensFile = "tokens"

// bind makes a token for each client that is started elsewhere, where the options ask for that, or where other hosts reach the
// listener and the user has not chosen a token. A run that was cut off has its tokens.
func bind(o *Options, sc *scenarios.Scenario, dir journal.Dir, before *doors) (t boundTokens, err error) {
	if before != nil {
		t = before.bound()
		return t, t.write()
	}
	t.file = o.Tokens
	if t.file == "" {
		if o.Token != "" || !o.beyondHost() {
			return boundTokens{}, nil
		}
		t.file = dir.File(tokensFile)
	}
	t.byName = map[string]string{}
	for _, name := range o.fromOutside(sc) {
		t.byName[name] = rand.Text()
	}
	return t, t.write()
}

// forStarted is the join token of the processes that the run starts.
func (l *listeners) forStarted() string { return cmp.Or(l.started, l.token) }

// tokens returns the join tokens that are bound to names. Each proxy has a token that only its gateway knows: else a client that joins the wrong dispatcher would take the place of its proxy.
func (l *listeners) tokens(o *Options, sc *scenarios.Scenario, p *part) map[string]string {
	if l.started == "" && p == nil {
		return l.bound.byName
	}
	all := map[string]string{}
	if p != nil {
		for _, name := range p.proxies {
			all[name] = l.proxies
		}
	}
	for i := range sc.Clients {
		if c := &sc.Clients[i]; l.started != "" && !c.External && !o.inside(*c) && !o.idles(c.Name) {
			all[c.Name] = l.started
		}
	}
	maps.Copy(all, l.bound.byName)
	return all
}

// write writes the file, if there is to be one.
func (t *boundTokens) write() error {
	if t.file == "" {
		return nil
	}
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(t.byName)) {
		fmt.Fprintf(&lines, "%s %s\n", name, t.byName[name])
	}
	if err := atomicfile.Write(t.file, []byte(lines.String()), 0o600); err != nil {
		return fmt.Errorf("the join tokens cannot be written: %w; name a file in a directory that exists", err)
	}
	return nil
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
