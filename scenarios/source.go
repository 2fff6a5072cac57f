package scenarios

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"metasim/internal/problem"
)

// begin is the remedy for a file without a scenario.
const begin = `begin with "name: my-scenario" and a list of clients`

// readSource reads a whole scenario file. What is wrong with the file is a problem, as it is the scenario's fault.
func readSource(file string) ([]byte, *problem.Problem) {
	wrong := func(format string, args ...any) *problem.Problem {
		return &problem.Problem{File: file, Message: fmt.Sprintf(format, args...)}
	}
	info, err := os.Stat(file)
	if os.IsNotExist(err) {
		return nil, wrong("there is no such file; check the path")
	}
	if err != nil {
		return nil, wrong("cannot be read (%v); check the path and its permissions", err)
	}
	if info.IsDir() {
		return nil, wrong("is a directory; name the *.metasim.yaml file in it")
	}
	if !info.Mode().IsRegular() {
		return nil, wrong("is no regular file; copy the scenario into a file first")
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, wrong("cannot be read (%v); check its permissions", err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, wrong("cannot be read (%v); try again", err)
	}
	return text, nil
}

// checkText refuses texts that the YAML parser should not get: too large, empty, with bytes that are no text, or indented with
// tabs.
func checkText(file string, text []byte) []problem.Problem {
	at := func(offset int, message string) []problem.Problem {
		line := 1 + bytes.Count(text[:offset], []byte{'\n'})
		column := 1 + utf8.RuneCount(text[bytes.LastIndexByte(text[:offset], '\n')+1:offset])
		return []problem.Problem{{File: file, Line: line, Column: column, Message: message}}
	}
	if len(text) > maxBytes {
		return []problem.Problem{{File: file,
			Message: "is larger than 1 MiB; use count for many clients, and patterns for many links"}}
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return []problem.Problem{{File: file, Message: "is empty; " + begin}}
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return at(i, "is no UTF-8 text here; save the file as UTF-8")
		}
		if r < ' ' && r != '\n' && r != '\r' && r != '\t' || r == 0x7f {
			return at(i, fmt.Sprintf("has a control character (%#02x) here; a scenario is plain text", r))
		}
		i += size
	}
	return checkTabs(file, text)
}

// checkTabs finds tabs in the indentation, where YAML does not allow them and the parser's messages do not name them.
func checkTabs(file string, text []byte) []problem.Problem {
	var problems []problem.Problem
	for i, line := range bytes.Split(text, []byte{'\n'}) {
		rest := bytes.TrimLeft(line, " ")
		if len(rest) == 0 || rest[0] != '\t' || len(bytes.TrimSpace(rest)) == 0 {
			continue
		}
		problems = append(problems, problem.Problem{File: file, Line: i + 1, Column: len(line) - len(rest) + 1,
			Message: "is indented with a tab; indent with spaces"})
	}
	return problems
}
