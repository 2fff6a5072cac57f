package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const exported = `{"kind":"put","pattern":[{"test":"name","text":"entities"}]}
{"kind":"put","pattern":[{"test":"name","text":"entities"},{"test":"name","text":"ball"}],"payload":{"kind":"data","bytes":"e30="}}
{"kind":"put","pattern":[{"test":"name","text":"keys"}]}
`

// What was exported is imported by another homeserver, beside what that one has, and the audit log says so.
func TestAuthorityExportAndImport(t *testing.T) {
	s := newStage(t)
	dir := t.TempDir()
	one, other, file := filepath.Join(dir, "one"), filepath.Join(dir, "the other"), filepath.Join(dir, "all.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(exported), 0o600))
	e := s.metasim("authority", "import", "--data", one, file)
	require.Zero(t, e.status, e.err)
	require.Contains(t, e.err, "3 nodes were written")
	e = s.metasim("authority", "export", "--data", one)
	require.Zero(t, e.status, e.err)
	require.Equal(t, exported, e.out)
	require.Zero(t, s.metasim("authority", "export", "--data", one, "--pattern", "/entities/b*", "--out", file).status)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, exported, string(text))
	require.NotContains(t, string(text), "keys")

	box := filepath.Join(dir, "box.jsonl")
	require.NoError(t, os.WriteFile(box, []byte(`{"kind":"put","pattern":[{"test":"name","text":"entities"},{"test":"name","text":"box"}]}`), 0o600))
	require.Zero(t, s.metasim("authority", "import", "--data", other, box).status)
	require.Zero(t, s.metasim("authority", "import", "--data", other, file).status)
	e = s.metasim("authority", "export", "--data", other, "--pattern", "/entities/*")
	require.Contains(t, e.out, `"ball"`)
	require.Contains(t, e.out, `"box"`)
	log, err := os.ReadFile(filepath.Join(other, "audit.log"))
	require.NoError(t, err)
	require.Contains(t, string(log), `"method":"IMPORT"`)
	require.Contains(t, string(log), "1 nodes were written")
}

// What cannot be copied is named, with what to do, and nothing changes.
func TestAuthorityCopiesAreChecked(t *testing.T) {
	s := newStage(t)
	dir := t.TempDir()
	home, file, bad := filepath.Join(dir, "home"), filepath.Join(dir, "all.jsonl"), filepath.Join(dir, "bad.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(exported), 0o600))
	require.NoError(t, os.WriteFile(bad, []byte(exported+`{"kind":"delete"}`), 0o600))
	require.Zero(t, s.metasim("authority", "import", "--data", home, file).status)
	for want, c := range map[string]struct {
		status int
		args   []string
	}{
		"has no tree.db; name that of a homeserver": {1, []string{"export", "--data", filepath.Join(dir, "nowhere")}},
		"--data is missing; name the directory":     {2, []string{"import", file}},
		"--data is missing":                         {2, []string{"export"}},
		`"x" does not begin with /`:                 {2, []string{"export", "--data", home, "--pattern", "x"}},
		`".." is not a name`:                        {2, []string{"export", "--data", home, "--pattern", "/a/../b"}},
		"the store is of another instance":          {1, []string{"import", "--data", home, "--instance", "west", file}},
		"line 4: command is not valid":              {1, []string{"import", "--data", home, bad}},
		"no such file":                              {1, []string{"import", "--data", home, filepath.Join(dir, "none")}},
		"import takes one file, or -":               {2, []string{"import", "--data", home}},
		`Instance is "a/b"`:                         {2, []string{"export", "--data", home, "--instance", "a/b"}},
	} {
		e := s.metasim(append([]string{"authority"}, c.args...)...)
		require.Equal(t, c.status, e.status, "%s: %s", want, e.err)
		require.Contains(t, e.err, want)
	}
	require.Equal(t, exported, s.metasim("authority", "export", "--data", home).out)
	require.NoDirExists(t, filepath.Join(dir, "nowhere"))
}
