package script

import (
	"fmt"
	"strings"
)

// A block is what stands between two blank lines that end an output.
type block struct {
	source   []string // its lines above the dashes, comments and blank lines too, as written
	line     int      // of the dashes
	commands []*Command
	want     string
	open     bool // the end of the file: comments without commands
}

const dashes = "----"

// parse splits a script into blocks.
func parse(path, text string) ([]block, error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	var blocks []block
	var b block
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if line != dashes {
			b.source = append(b.source, line)
			if words := strings.Fields(line); len(words) > 0 && !strings.HasPrefix(line, "#") {
				b.commands = append(b.commands, newCommand(fmt.Sprintf("%s:%d", path, i+1), line, words))
			}
			continue
		}
		if len(b.commands) == 0 {
			return nil, fmt.Errorf("%s:%d: no command stands above the dashes; write one, or remove them", path, i+1)
		}
		b.line = i + 1
		for i+1 < len(lines) && lines[i+1] != "" {
			i++
			b.want += lines[i] + "\n"
		}
		i++ // the blank line
		blocks = append(blocks, b)
		b = block{}
	}
	if len(b.commands) > 0 {
		return nil, fmt.Errorf("%s: no dashes follow the last command; write %q below it", path, dashes)
	}
	if len(b.source) > 0 {
		b.open = true
		blocks = append(blocks, b)
	}
	return blocks, nil
}

// format writes a script from its blocks: what parse read, with one blank line after each output.
func format(blocks []block) string {
	var s strings.Builder
	for i, b := range blocks {
		if i > 0 {
			s.WriteByte('\n')
		}
		for _, line := range b.source {
			s.WriteString(line + "\n")
		}
		if !b.open {
			s.WriteString(dashes + "\n" + b.want)
		}
	}
	return s.String()
}
