package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const place = "// THE BLOCK\n"

// framed returns the Go of a block with what stands around it.
func framed(b block) (string, error) {
	if b.frame == "" {
		return "", fmt.Errorf("line %d: name the file of internal/pages/testdata that stands around this block of Go, as in <!-- in: values.go.txt -->", b.line)
	}
	around, err := os.ReadFile(filepath.Join("testdata", b.frame))
	if err != nil {
		return "", err
	}
	before, after, found := strings.Cut(string(around), place)
	if !found {
		return "", fmt.Errorf("testdata/%s has no line %q", b.frame, place)
	}
	return before + b.text + after, nil
}

// compile compiles texts of Go, each as a package of this module that is in no directory.
func compile(t *testing.T, texts map[string]string) error {
	t.Helper()
	dir := t.TempDir()
	here, err := os.Getwd()
	require.NoError(t, err)
	overlay, packages := map[string]string{}, []string{}
	for name, text := range texts {
		file := filepath.Join(dir, name+".go")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		overlay[filepath.Join(here, "compiled", name, name+".go")] = file
		packages = append(packages, "./compiled/"+name)
	}
	list, err := json.Marshal(map[string]any{"Replace": overlay})
	require.NoError(t, err)
	file := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(file, list, 0o600))
	if out, err := exec.CommandContext(t.Context(), "go", append([]string{"build", "-overlay", file}, packages...)...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// What the pages show in Go compiles as it is written there. The blocks of the README are run by the tests of client.
func TestGoCompiles(t *testing.T) {
	files, err := filepath.Glob("../../docs/*.md")
	require.NoError(t, err)
	texts := map[string]string{}
	for _, file := range files {
		page, err := os.ReadFile(file)
		require.NoError(t, err)
		blocks, err := blocksOf(string(page))
		require.NoError(t, err, file)
		for _, b := range blocks {
			if b.lang != "go" || b.file != "" {
				continue // a whole file is built by the page that has it: make pages
			}
			text, err := framed(b)
			require.NoError(t, err, file)
			texts[fmt.Sprintf("%s-%d", strings.TrimSuffix(filepath.Base(file), ".md"), b.line)] = text
		}
	}
	require.GreaterOrEqual(t, len(texts), 4, "where is the Go?")
	require.NoError(t, compile(t, texts))
	texts["wrong"] = "package wrong\n\nvar _ = nothing\n"
	require.ErrorContains(t, compile(t, texts), "undefined: nothing")
}
