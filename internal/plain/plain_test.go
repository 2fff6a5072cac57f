package plain_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"metasim/internal/plain"
)

// hostile are texts that do something to a terminal, or to who reads it.
var hostile = map[string]string{
	"STATE/arm-1 é µ …":   "STATE/arm-1 é µ …",
	"\x1b[2J\x1b]0;t\x07": `\u001b[2J\u001b]0;t\u0007`,
	"a\nb\rc\td":          `a\u000ab\u000dc\u0009d`,
	"\u009b31m":           `\u009b31m`,
	"\u202egnp.exe":       `\u202egnp.exe`,
	"\U000e0001tag":       `\udb40\udc01tag`,
	"\x9b31m\xff":         "\ufffd31m\ufffd",
	"cut \xe2\x80":        "cut \ufffd",
	"\x7f":                `\u007f`,
}

func TestText(t *testing.T) {
	for text, want := range hostile {
		require.Equal(t, want, plain.Text(text), "%q", text)
		var back string
		if utf8.ValidString(text) {
			require.NoError(t, json.Unmarshal([]byte(`"`+plain.Text(text)+`"`), &back))
			require.Equal(t, text, back, "the escapes are those of JSON")
		}
	}
}

// However a text is cut into writes, the same comes out; lines stay lines.
func TestWriter(t *testing.T) {
	for text, want := range hostile {
		text += "\n\tend" // a character that was begun is known to be none
		want = strings.NewReplacer(`\u000a`, "\n", `\u0009`, "\t").Replace(want) + "\n\tend"
		for size := 1; size <= len(text); size++ {
			var got strings.Builder
			w := &plain.Writer{To: &got}
			for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
				n, err := w.Write([]byte(rest[:min(size, len(rest))]))
				require.NoError(t, err)
				require.Equal(t, min(size, len(rest)), n)
			}
			if !strings.HasPrefix(text, "cut ") {
				require.Equal(t, want, got.String(), "%q by %d", text, size)
			}
		}
	}
}

// No input brings out anything but what can be seen.
func FuzzWriter(f *testing.F) {
	for text := range hostile {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var got strings.Builder
		w := &plain.Writer{To: &got}
		for i := range len(text) {
			_, err := w.Write([]byte{text[i]})
			require.NoError(t, err)
		}
		for _, s := range []string{plain.Text(text), strings.NewReplacer("\n", "", "\t", "").Replace(got.String()), plain.Line(text, 80)} {
			require.True(t, utf8.ValidString(s))
			require.False(t, strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsGraphic(r) }), "%q", s)
		}
	})
}

// Nothing that a client writes is a command to the terminal of who reads it, and what is long is cut.
func TestLine(t *testing.T) {
	for line, want := range map[string]string{
		"relaxing the mesh, residual 0.3":               "relaxing the mesh, residual 0.3",
		"  File \"x.py\", line 3\t in f  ":              "  File \"x.py\", line 3  in f",
		"\x1b[2J\x1b[1;31mred\x1b[0m":                   "red",
		"\x1b]0;owned\x07title \x1b]8;;http://e\x1b\\x": "title x",
		"\x1b(B\x1b7plain\x1bM":                         "plain",
		"a\x00\x01b\x7f \u202ertl\u202c \x9b31m":        "ab rtl ?31m",
		"\rprogress 1 %\rprogress 2 %   \r":             "progress 2 %",
		"\rprogress 3 %\r            ":                  "progress 3 %",
		"from Windows\r":                                "from Windows",
		"\xff\xfe":                                      "?",
		strings.Repeat("é", 300):                        strings.Repeat("é", 199) + "…",
		"":                                              "",
	} {
		require.Equal(t, want, plain.Line(line, 200), "%q", line)
	}
}
