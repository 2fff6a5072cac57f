// Package plain writes what others wrote, such as names of channels, keys of a scenario and output of programs, so that none of it is a
// command to the terminal of who reads it. What a reader cannot see is written as JSON would escape it: "\u001b".
package plain

import (
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns a text as one line. A line that is plain already is returned as it is.
func Text(s string) string {
	for i := range len(s) {
		if !visible(s[i]) {
			b, rest := escape(make([]byte, 0, len(s)+16), s, false)
			return string(incomplete(b, rest))
		}
	}
	return s
}

// visible reports whether a byte is a character of its own that everybody sees.
func visible(b byte) bool { return ' ' <= b && b <= '~' }

// escape appends a text to b, and returns what may be the beginning of a character. Line feeds and tabs stay if lines is true.
func escape(b []byte, s string, lines bool) (text []byte, rest string) {
	for i := 0; i < len(s); {
		if visible(s[i]) || lines && (s[i] == '\n' || s[i] == '\t') {
			b = append(b, s[i])
			i++
			continue
		}
		if !utf8.FullRuneInString(s[i:]) {
			return b, s[i:]
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		b = appendRune(b, r)
		i += size
	}
	return b, ""
}

// incomplete appends a character whose end never came.
func incomplete(b []byte, rest string) []byte {
	if rest == "" {
		return b
	}
	return utf8.AppendRune(b, utf8.RuneError)
}

// appendRune appends a character, or the escape of one that cannot be seen. Bytes that are no UTF-8 become U+FFFD.
func appendRune(b []byte, r rune) []byte {
	if unicode.IsGraphic(r) {
		return utf8.AppendRune(b, r)
	}
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		return appendUnit(appendUnit(b, high), low)
	}
	return appendUnit(b, r)
}

func appendUnit(b []byte, r rune) []byte {
	const digits = "0123456789abcdef"
	return append(b, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
}

// A Writer writes text, of one line or of many, to a terminal or a file. JSON stays the same JSON.
type Writer struct {
	To io.Writer

	mu    sync.Mutex
	begun string // of a character
	text  []byte
}

// Write writes all of b, except the beginning of a character whose end may come with the next call.
func (w *Writer) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text, w.begun = escape(w.text[:0], w.begun+string(b), true)
	if _, err := w.To.Write(w.text); err != nil {
		return 0, err
	}
	return len(b), nil
}

// sequences match what a terminal takes as a command (ECMA-48): CSI, OSC and other strings, and the short ones.
var sequences = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[ -/]*[0-~])")

// Line returns what a person would see of a line of output on a terminal, without its commands to the terminal, and at most so many
// characters of it. Output may hold anything: colours, a progress bar that overwrites itself (the last version is returned), binary
// data.
func Line(line string, most int) string {
	line = sequences.ReplaceAllString(strings.ToValidUTF8(line, "?"), "")
	line = strings.TrimRight(line, "\r")
	for versions := strings.Split(line, "\r"); len(versions) > 0; versions = versions[:len(versions)-1] {
		if line = versions[len(versions)-1]; strings.TrimSpace(line) != "" {
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
	if r := []rune(line); len(r) > most {
		line = string(r[:most-1]) + "…"
	}
	return line
}
