package run_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/record"
	"metasim/run"
)

// To verify is to say where runs part, for which journals are needed, whatever the options say.
func TestVerifyKeepsJournals(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Setenv("TMP", temp) // the same on Windows
	o := options(t, "mem")
	o.NoJournal = true
	v, err := run.Verify(t.Context(), parse(t, `name: endless
clients:
  - {name: ring, model: ring, with: {in: X, out: X, first: true}}
until: 1s
max_steps: 10
`), 2, o)
	require.NoError(t, err)
	require.Contains(t, v.Error, "run 1 (mem, kept in ")
	kept, err := filepath.Glob(filepath.Join(temp, "*", "1"))
	require.NoError(t, err)
	require.Len(t, kept, 1)
	l, err := record.ReadLog(kept[0])
	require.NoError(t, err)
	require.NotEmpty(t, l.Messages)
}
