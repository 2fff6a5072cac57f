package main

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"metasim/clients"
	"metasim/internal/suggest"
)

//go:embed starter
var starter embed.FS

// languages are those in which init writes a program.
var languages = []string{"go", "c", "cpp", "python"}

// A starterOf is what init writes for a language beside the files of its folder in starter.
type starterOf struct {
	run     string            // how the scenario starts the program
	shared  string            // a folder in starter with files that several languages have; empty: none
	library map[string]string // from files of the client libraries to where they are put
	then    []string          // what to type in the directory
}

var starters = map[string]starterOf{
	"go":     {run: "[./tank]", then: []string{"go build -o tank .", "metasim run tank.metasim.yaml", "go test ."}},
	"c":      {run: "[./tank]", shared: "native", library: map[string]string{"c": "."}, then: []string{"make run", "make test"}},
	"cpp":    {run: "[./tank]", shared: "native", library: map[string]string{"c": ".", "cpp": "."}, then: []string{"make run", "make test"}},
	"python": {run: "[python3, tank.py]", library: map[string]string{"python/metasim": "metasim"}, then: []string{"metasim run tank.metasim.yaml", "python3 test_tank.py"}},
}

func newInit(std streams) *cobra.Command {
	var lang, clone string
	cmd := &cobra.Command{
		Use:   "init DIR",
		Short: "Write a simulator, a scenario and a test to begin with",
		Long: "Write a simulator, a scenario that runs it and a test into a new directory. They work as they are: put your\n" +
			"simulator in the place of the model, which is a tank that a pump fills.\n\n" +
			"In C, C++ and Python the client library is put beside the program, and nothing else is needed. A program in Go needs a\n" +
			"clone of metasim, as no server has the module: --clone names it, if metasim does not lie in it.",
		Example: "  metasim init --lang python first\n  cd first && metasim run tank.metasim.yaml",
		Args:    exactly(1, "one directory"),
		RunE: func(_ *cobra.Command, args []string) error {
			s, known := starters[lang]
			if !known {
				return badUsage(fmt.Errorf("--lang %s: there is no client library for this language; %s", lang, suggest.Word(lang, languages)))
			}
			files, err := s.files(lang, clone)
			if err == nil {
				err = writeNew(args[0], files)
			}
			if err != nil {
				return badUsage(err)
			}
			_, err = fmt.Fprintf(std.out, "%s has a simulator, a scenario and a test. Try them:\n  cd %s\n  %s\n", args[0], shellWord(args[0]), strings.Join(s.then, "\n  "))
			return failed(err)
		},
	}
	cmd.Flags().StringVar(&lang, "lang", "go", "the `language` of the simulator: "+strings.Join(languages, ", "))
	cmd.Flags().StringVar(&clone, "clone", "", "the `directory` of a clone of metasim, for --lang go (default: the one in which metasim or this directory lies)")
	return cmd
}

// files are what init writes: the contents, by name.
func (s starterOf) files(lang, clone string) (map[string][]byte, error) {
	scenario, err := starter.ReadFile("starter/tank.metasim.yaml")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{"tank.metasim.yaml": []byte(strings.ReplaceAll(string(scenario), "{{run}}", s.run))}
	errs := []error{copyFolder(files, starter, path.Join("starter", lang), ".")}
	if s.shared != "" {
		errs = append(errs, copyFolder(files, starter, path.Join("starter", s.shared), "."))
	}
	for from, to := range s.library {
		errs = append(errs, copyFolder(files, clients.Files, from, to))
	}
	if lang == "go" {
		errs = append(errs, asModule(files, clone))
	}
	return files, errors.Join(errs...)
}

func copyFolder(files map[string][]byte, from fs.FS, folder, to string) error {
	entries, err := fs.ReadDir(from, folder)
	for _, e := range entries {
		text, e2 := fs.ReadFile(from, path.Join(folder, e.Name()))
		files[path.Join(to, strings.TrimSuffix(e.Name(), ".txt"))], err = text, cmp.Or(err, e2)
	}
	return err
}

var (
	moduleLine = regexp.MustCompile(`(?m)^module (\S+)$`)
	// needed are the modules that the client needs, with their versions in the go.mod of metasim.
	needed = regexp.MustCompile(`(?m)^\t?(google\.golang\.org/protobuf|golang\.org/x/sys) \S+( h1:\S+)?$`)
	goLine = regexp.MustCompile(`(?m)^go \S+$`)
)

// asModule makes a Go module of the files, which finds metasim in a clone. It has what go mod tidy would add, so that it needs no network.
func asModule(files map[string][]byte, clone string) error {
	clone, mod, err := findClone(clone)
	if err != nil {
		return err
	}
	sums, err := os.ReadFile(filepath.Join(clone, "go.sum"))
	if err != nil {
		return err
	}
	module := moduleLine.FindStringSubmatch(mod)[1]
	text := fmt.Sprintf("module tank\n\n%s\n\nrequire %s v0.0.0\n\nrequire (\n", goLine.FindString(mod), module)
	for _, line := range needed.FindAllString(mod, -1) {
		text += line + " // indirect\n"
	}
	files["go.mod"] = fmt.Appendf(nil, "%s)\n\nreplace %s => %q\n", text, module, clone)
	files["go.sum"] = []byte(strings.Join(needed.FindAllString(string(sums), -1), "\n") + "\n")
	for name, content := range files {
		if strings.HasSuffix(name, ".go") {
			files[name] = []byte(strings.ReplaceAll(string(content), "{{module}}", module))
		}
	}
	return nil
}

// findClone looks for a clone of metasim. It returns its directory, and the text of the go.mod there.
func findClone(named string) (dir, mod string, err error) {
	var from []string
	if named != "" {
		from = []string{named}
	} else {
		for _, find := range []func() (string, error){os.Getwd, os.Executable} {
			if place, err := find(); err == nil {
				from = append(from, place)
			}
		}
	}
	for _, place := range from {
		place, err := filepath.Abs(place)
		if err != nil {
			return "", "", err
		}
		for {
			text, err := os.ReadFile(filepath.Join(place, "go.mod"))
			if _, e := os.Stat(filepath.Join(place, "client", "builder.go")); err == nil && e == nil && moduleLine.Match(text) {
				return place, string(text), nil
			}
			if named != "" || filepath.Dir(place) == place {
				break
			}
			place = filepath.Dir(place)
		}
	}
	if named != "" {
		return "", "", fmt.Errorf("%s is no clone of metasim; name the directory that has its go.mod", named)
	}
	return "", "", errors.New("a simulator in Go needs a clone of metasim, and neither metasim nor this directory lies in one; name one with --clone")
}

// writeNew writes files into a directory that is new or empty.
func writeNew(dir string, files map[string][]byte) error {
	switch entries, err := os.ReadDir(dir); {
	case err == nil && len(entries) > 0:
		return fmt.Errorf("%s is not empty; name a new or an empty directory", dir)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	var errs []error
	for name, text := range files {
		file := filepath.Join(dir, name)
		errs = append(errs, os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, text, 0o644))
	}
	return errors.Join(errs...)
}
