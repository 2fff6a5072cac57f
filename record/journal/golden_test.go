package journal

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/internal/golden"
	"metasim/metasim"
)

// TestGolden pins the bytes of the format: journals that were written stay readable.
func TestGolden(t *testing.T) {
	const file = "testdata/story.golden"
	journal := write(t, story()...)
	var b strings.Builder
	fmt.Fprintf(&b, "# header\n%x\n", journal[:headerSize])
	rest := journal[headerSize:]
	for _, e := range story() {
		n := frameSize + int(binary.LittleEndian.Uint32(rest))
		fmt.Fprintf(&b, "# %s, %d effects\n%x\n", strings.TrimPrefix(fmt.Sprintf("%T", e.Event), "*"), len(e.Effects), rest[:n])
		rest = rest[n:]
	}
	require.Empty(t, rest)
	golden.Equal(t, file, b.String())
	old, err := hex.DecodeString(regexp.MustCompile(`#.*|\n`).ReplaceAllString(b.String(), ""))
	require.NoError(t, err)
	entries, err := read(old)
	require.NoError(t, err)
	assert.Equal(t, story(), entries)
}

// TestTheExampleOfTheDocIsTrue reads the bytes that doc.go explains.
func TestTheExampleOfTheDocIsTrue(t *testing.T) {
	doc, err := parser.ParseFile(token.NewFileSet(), "doc.go", nil, parser.ParseComments)
	require.NoError(t, err)
	text := doc.Doc.Text()
	var digits string
	for _, line := range regexp.MustCompile(`(?m)^\t *((?:[0-9a-f]{2} )+) `).FindAllStringSubmatch(text, -1) {
		digits += strings.ReplaceAll(line[1], " ", "")
	}
	m := metasim.Message{From: 1, Channel: "A", Sent: metasim.At(5), Due: metasim.Instant{Time: 7, Step: 2},
		Payload: []byte("hi")}
	journal := write(t, Entry{3, &metasim.Send{Client: 1, Channel: "A", Sent: m.Sent, Payload: m.Payload},
		[]metasim.Effect{&metasim.Queue{Message: m}}})
	assert.Equal(t, hex.EncodeToString(journal[headerSize:]), digits)
}
