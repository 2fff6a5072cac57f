// Command pages does what the documents tell a reader to type: each page in a fresh copy of the clone, block after block, in one shell. A page
// on which a command fails is wrong. `make pages` runs it.
//
// A block of code is run if it is one of the shell (sh). A comment of its own line before a block says what else it is:
//
//	<!-- file: echo.yaml -->         the reader saves the block under this name
//	<!-- not run: the reason -->     it cannot be run here
//	<!-- fails: 3 -->                its last command is to end with this exit status
//	<!-- in: values.go.txt -->       this file of testdata stands around a block of Go, which the tests compile
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: pages CLONE PAGE...: a directory with bin/metasim, and pages of it")
		os.Exit(2)
	}
	failed := 0
	for _, page := range os.Args[2:] {
		if err := try(os.Args[1], page); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", page, err)
			failed++
		}
	}
	if failed > 0 {
		fmt.Fprintf(os.Stderr, "%d pages tell what does not work\n", failed)
		os.Exit(1)
	}
}

// A block is what a reader does at one place of a page.
type block struct {
	line           int
	lang, text     string
	file, reason   string // what the comment before it says
	expectedStatus string
	frame          string
}

// longest is how long the commands of one page may take.
const longest = 10 * time.Minute

// try does what a page says, in a copy of the clone.
func try(clone, page string) error {
	text, err := os.ReadFile(filepath.Join(clone, page))
	if err != nil {
		return err
	}
	blocks, err := blocksOf(string(text))
	if err != nil {
		return err
	}
	script, ran := scriptOf(page, blocks)
	for _, b := range blocks {
		if b.reason != "" {
			fmt.Printf("%s:%d is not run: %s\n", page, b.line, b.reason)
		}
	}
	if ran == 0 {
		return nil
	}
	dir, err := os.MkdirTemp("", "pages-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	copied := filepath.Join(dir, "metasim")
	if out, err := exec.Command("cp", "-R", clone, copied).CombinedOutput(); err != nil {
		return fmt.Errorf("the clone cannot be copied: %w: %s", err, out)
	}
	ctx, cancel := context.WithTimeout(context.Background(), longest)
	defer cancel()
	var said bytes.Buffer
	shell := exec.CommandContext(ctx, "bash", "-c", script)
	shell.Dir, shell.Stdout, shell.Stderr, shell.WaitDelay = copied, &said, &said, time.Second
	shell.Env = append(os.Environ(), "PATH="+filepath.Join(copied, "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	begun := time.Now()
	if err := shell.Run(); err != nil {
		return fmt.Errorf("%w\n%s", errors.Join(ctx.Err(), err), said.String())
	}
	fmt.Printf("%s: %d blocks, %v\n", page, ran, time.Since(begun).Round(time.Second/10))
	return nil
}

var (
	comment  = regexp.MustCompile(`^<!-- (file|not run|fails|in): (.+) -->$`)
	indented = regexp.MustCompile(`^    (\$ |metasim |make |go |pip )`)
)

// blocksOf returns the blocks of a page. A command that is only indented is refused, as it would not be run.
func blocksOf(text string) (blocks []block, err error) {
	var open *block
	var before block // what a comment said of the next block
	for i, line := range strings.Split(text, "\n") {
		fence := strings.HasPrefix(line, "```")
		switch m := comment.FindStringSubmatch(line); {
		case open != nil && fence:
			blocks, open = append(blocks, *open), nil
		case open != nil:
			open.text += line + "\n"
		case fence:
			before.line, before.lang = i+1, strings.TrimPrefix(line, "```")
			open, before = new(before), block{}
			if open.lang == "" {
				return nil, fmt.Errorf("line %d: say what the block is: sh if it is typed, text if it is printed", i+1)
			}
		case m != nil && m[1] == "file":
			before.file = m[2]
		case m != nil && m[1] == "fails":
			before.expectedStatus = m[2]
		case m != nil && m[1] == "in":
			before.frame = m[2]
		case m != nil:
			before.reason = m[2]
		case indented.MatchString(line):
			return nil, fmt.Errorf("line %d: put the command between ```sh and ```, so that it is run", i+1)
		}
	}
	if open != nil {
		return nil, fmt.Errorf("line %d: the block has no end", open.line)
	}
	return blocks, nil
}

// scriptOf returns the script of a page, and how many blocks it runs.
func scriptOf(page string, blocks []block) (script string, ran int) {
	var b strings.Builder
	b.WriteString("set -e -o pipefail\ntrap 'status=$?; [ $status = 0 ] || echo \"$at ended with $status\"; kill $(jobs -p) 2>/dev/null || :; exit $status' EXIT\n")
	for _, block := range blocks {
		fmt.Fprintf(&b, "at=%s:%d\n", page, block.line)
		switch {
		case block.reason != "":
		case block.file != "":
			fmt.Fprintf(&b, "mkdir -p \"$(dirname '%s')\"\ncat > '%[1]s' <<'END OF THE BLOCK'\n%sEND OF THE BLOCK\n", block.file, block.text)
		case block.lang != "sh":
		case block.expectedStatus != "":
			ran++
			fmt.Fprintf(&b, "echo \"== $at\"\nstatus=0\n{\n%s} || status=$?\n[ $status = %s ] || { echo \"$at: expected %[2]s, got $status\"; exit 1; }\n", block.text, block.expectedStatus)
		default:
			ran++
			fmt.Fprintf(&b, "echo \"== $at\"\n%s", block.text)
		}
	}
	return b.String(), ran
}
