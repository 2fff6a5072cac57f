package script

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// echo prints what it was given.
func echo(c *Command) (string, error) {
	switch c.Name {
	case "say":
		var words []string
		for {
			w, err := c.Word("a word")
			if err != nil {
				return strings.Join(words, " "), nil
			}
			words = append(words, w)
		}
	case "lines":
		return strings.Join(c.List("of"), "\n"), nil
	case "silent":
		return "", nil
	case "need":
		_, err := c.Word("a name")
		return "", err
	}
	return "", errors.New("unknown command")
}

func TestDir(t *testing.T) {
	Dir(t, "testdata/*.txt", func(*testing.T) Handler { return echo })
}

// recorder is a testing.TB that notes failures instead of failing.
type recorder struct {
	testing.TB
	errors []string
	fatal  string
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, strings.TrimSpace(format)+": "+args[2].(string))
}
func (r *recorder) Fatal(args ...any) {
	r.fatal = args[0].(error).Error()
	panic(r)
}

// try runs a script text and returns what it complained of, and the file afterwards.
func try(t *testing.T, text string) (*recorder, string) {
	path := filepath.Join(t.TempDir(), "s.txt")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	r := &recorder{TB: t}
	func() {
		defer func() {
			if p := recover(); p != nil && p != any(r) {
				panic(p)
			}
		}()
		File(r, path, echo)
	}()
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	r.fatal = strings.ReplaceAll(r.fatal, path, "s.txt")
	return r, string(after)
}

// setRewrite sets the flag -rewrite for one test.
func setRewrite(t *testing.T, value string) {
	f := flag.Lookup("rewrite")
	was := f.Value.String()
	require.NoError(t, f.Value.Set(value))
	t.Cleanup(func() { require.NoError(t, f.Value.Set(was)) })
}

func TestDifference(t *testing.T) {
	setRewrite(t, "false")
	r, after := try(t, "say a\n----\nb\n\nsay c\n----\nc\n\nsay d\n----\n")
	require.Empty(t, r.fatal)
	require.Len(t, r.errors, 2, "both blocks that differ are reported, the one that does not is not")
	require.Contains(t, r.errors[0], "say a")
	require.Contains(t, r.errors[1], "say d")
	require.Contains(t, after, "----\nb\n", "the file stays as it was")
}

func TestRewrite(t *testing.T) {
	setRewrite(t, "true")
	text := "# head\n\n# more\nsay a\nlines of=x,y\n----\nold\n\n\nsilent\n----\nolder\noldest\n\n# tail\n"
	want := "# head\n\n# more\nsay a\nlines of=x,y\n----\na\nx\ny\n\n\nsilent\n----\n\n# tail\n"
	r, after := try(t, text)
	require.Empty(t, r.fatal)
	require.Equal(t, want, after)
	_, again := try(t, after)
	require.Equal(t, want, again, "rewriting what was rewritten changes nothing")
}

func TestComplaints(t *testing.T) {
	for text, want := range map[string]string{
		"----\n":                   "s.txt:1: no command stands above the dashes; write one, or remove them",
		"say a\n":                  "s.txt: no dashes follow the last command; write \"----\" below it",
		"say a key=1\n----\na\n":   "s.txt:1: say a key=1: say does not know \"key=1\"; remove it",
		"# x\n\nfly\n----\n":       "s.txt:3: fly: unknown command",
		"need\n----\n":             "s.txt:1: need: a name is missing: need needs it as a word",
		"lines of=x\n----\nx\n\ny": "s.txt: no dashes follow the last command; write \"----\" below it",
		"lines of=x,,y\n----\nx\n": "s.txt:1: lines of=x,,y: it printed a blank line, which would end the block; " +
			"print something there",
	} {
		r, _ := try(t, text)
		require.Equal(t, want, r.fatal, text)
	}
}

func TestCommand(t *testing.T) {
	c := newCommand("f:1", "", strings.Fields("send a key=1 loud list=x,y empty= key=2"))
	w, err := c.Word("who")
	require.NoError(t, err)
	require.Equal(t, "a", w)
	require.False(t, c.Flag("quiet"))
	require.True(t, c.Flag("loud"))
	v, ok := c.Arg("key")
	require.True(t, ok)
	require.Equal(t, "1", v)
	require.Equal(t, []string{"x", "y"}, c.List("list"))
	require.Nil(t, c.List("empty"))
	require.Equal(t, []string{"key=2"}, c.words)
}
