package run

import (
	"io"
	"os"
	"regexp"
	"strings"
	"time"
	"unicode"
)

// What a process writes may hold anything: what turns a terminal red, a progress bar that is written over itself, the
// bytes of a picture. What of it is shown to a person is plain text, of a length that can be read.

const (
	// longest is how much of a line is shown, in characters.
	longest = 200
	// tailSize is how much of a file is read to find its last lines.
	tailSize = 16 << 10
)

// said returns the last line that a process wrote to either of its outputs, or nothing.
func (p *process) said() string {
	older, newer := p.stdout, p.stderr
	if written(older).After(written(newer)) {
		older, newer = newer, older
	}
	for _, file := range []string{newer, older} {
		if lines := tail(file, 1); len(lines) > 0 {
			return strings.TrimSpace(lines[0])
		}
	}
	return ""
}

// lastWords are the last lines of a process that has ended: of its standard error, or where there are none of its output.
func (p *process) lastWords() []string {
	if lines := tail(p.stderr, lastLines); len(lines) > 0 {
		return lines
	}
	return tail(p.stdout, lastLines)
}

// written is when a file was last written to.
func written(file string) time.Time {
	info, err := os.Stat(file)
	if err != nil {
		return time.Time{} // nothing is read from it, either
	}
	return info.ModTime()
}

// tail returns the last lines of a file, as far as they are to be had, without empty ones at the end.
func tail(file string, lines int) []string {
	f, err := os.Open(file)
	if err != nil {
		return []string{err.Error()}
	}
	defer f.Close()
	begun := ""
	if info, err := f.Stat(); err == nil && info.Size() > tailSize {
		if _, err := f.Seek(-tailSize, io.SeekEnd); err != nil {
			return []string{err.Error()}
		}
		begun = "…" // in the middle of a line
	}
	text, err := io.ReadAll(io.LimitReader(f, tailSize))
	if err != nil {
		return []string{err.Error()}
	}
	var all []string
	for _, line := range strings.Split(begun+string(text), "\n") {
		all = append(all, legible(line))
	}
	for len(all) > 0 && strings.TrimSpace(all[len(all)-1]) == "" {
		all = all[:len(all)-1]
	}
	return all[max(0, len(all)-lines):]
}

// sequences are what a terminal takes for a command (ECMA-48): CSI, OSC and other strings, and the short ones.
var sequences = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[ -/]*[0-~])")

// legible makes of a line what is left of it on a terminal, in plain text: the commands are carried out no more, and of
// what was written over itself the last is shown.
func legible(line string) string {
	line = sequences.ReplaceAllString(strings.ToValidUTF8(line, "?"), "")
	line = strings.TrimRight(line, "\r")
	for over := strings.Split(line, "\r"); len(over) > 0; over = over[:len(over)-1] {
		if line = over[len(over)-1]; strings.TrimSpace(line) != "" {
			break
		}
	}
	line = strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, line)
	line = strings.TrimRight(line, " ")
	if r := []rune(line); len(r) > longest {
		line = string(r[:longest-1]) + "…"
	}
	return line
}
