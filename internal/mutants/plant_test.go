package mutants

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// All mistakes are compiled into one program, and a variable of the environment selects one of them. So the machine and its
// tests are compiled once, not a hundred times. A function in which mistakes are planted is written once for each of them:
//
//	func (q *queue) pop() Message {
//		switch plantedMistake { case 7: return q.pop_7() }
//		...
//	}
//	func (q *queue) pop_7() Message { ... with the mistake ... }
//
// The files are changed on their way to the compiler alone (go build -overlay).

// selector is the variable of the environment that selects a mistake by its number, from 1.
const selector = "METASIM_PLANTED_MISTAKE"

const selectorFile = `package %s

import (
	"os"
	"strconv"
)

var plantedMistake, _ = strconv.Atoi(os.Getenv("` + selector + `"))
`

// plant writes the changed files into a folder, and returns the path of the overlay that names them.
func plant(t *testing.T, dir string, mutants []mutant) string {
	replace := map[string]string{}
	put := func(path, text string) {
		whole, err := filepath.Abs(path)
		require.NoError(t, err)
		replace[whole] = filepath.Join(dir, fmt.Sprintf("%d_%s", len(replace), filepath.Base(path)))
		require.NoError(t, os.WriteFile(replace[whole], []byte(text), 0o600))
	}
	var folders []string
	for _, file := range editedFiles(mutants) {
		path := filepath.Join(machine, file)
		put(path, plantIn(t, path, file, mutants))
		if folder := filepath.Dir(path); !slices.Contains(folders, folder) {
			folders = append(folders, folder)
			put(filepath.Join(folder, "planted_mistake.go"), fmt.Sprintf(selectorFile, filepath.Base(folder)))
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	path := filepath.Join(dir, "overlay.json")
	require.NoError(t, os.WriteFile(path, overlay, 0o600))
	return path
}

func editedFiles(mutants []mutant) []string {
	var files []string
	for _, m := range mutants {
		for _, e := range m.edits {
			files = append(files, e.file)
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// plantIn returns the text of a file with all mistakes in it.
func plantIn(t *testing.T, path, file string, mutants []mutant) string {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
	require.NoError(t, err)
	var functions []*function
	for _, d := range tree.Decls {
		if d, ok := d.(*ast.FuncDecl); ok {
			functions = append(functions, &function{
				FuncDecl: d, text: string(text), start: set.Position(d.Pos()).Offset, end: set.Position(d.End()).Offset,
			})
		}
	}
	for i, m := range mutants {
		changed := map[*function]string{}
		for _, e := range m.edits {
			if e.file != file {
				continue
			}
			require.Equal(t, 1, strings.Count(string(text), e.old),
				"%s must hold this once; mend the mutant %q where the machine has changed:\n%s", file, m.name, e.old)
			at := strings.Index(string(text), e.old)
			k := slices.IndexFunc(functions, func(f *function) bool { return f.start <= at && at+len(e.old) <= f.end })
			require.GreaterOrEqual(t, k, 0, "%q changes what is no part of a function", m.name)
			f := functions[k]
			if changed[f] == "" {
				changed[f] = string(text[f.start:f.end])
			}
			changed[f] = strings.Replace(changed[f], e.old, e.new, 1)
		}
		for f, body := range changed {
			f.variants = append(f.variants, variant{number: i + 1, text: body})
		}
	}
	planted, copied := "", 0
	for _, f := range functions {
		if len(f.variants) > 0 {
			open := set.Position(f.Body.Lbrace).Offset + 1
			planted += string(text[copied:open]) + f.selects()
			copied = open
		}
	}
	planted += string(text[copied:])
	for _, f := range functions {
		planted += f.copies()
	}
	return planted
}

// A function is one in which mistakes are planted.
type function struct {
	*ast.FuncDecl
	text       string // of the file
	start, end int    // of the function, in the text
	variants   []variant
}

type variant struct {
	number int    // of the mistake
	text   string // of the function
}

// selects is the beginning of a function's body: it calls a variant that is selected.
func (f *function) selects() string {
	call := ""
	if f.Recv != nil {
		call = f.Recv.List[0].Names[0].Name + "."
	}
	var args []string
	for _, p := range f.Type.Params.List {
		for _, name := range p.Names {
			args = append(args, name.Name)
		}
	}
	s := " switch plantedMistake {"
	for _, v := range f.variants {
		called := fmt.Sprintf("%s%s(%s)", call, f.named(v), strings.Join(args, ", "))
		if f.Type.Results != nil {
			s += fmt.Sprintf("case %d: return %s;", v.number, called)
		} else {
			s += fmt.Sprintf("case %d: %s; return;", v.number, called)
		}
	}
	return s + "};"
}

// copies are the variants as functions of their own.
func (f *function) copies() string {
	s := ""
	for _, v := range f.variants {
		before, after, _ := strings.Cut(v.text, f.Name.Name+"(")
		if f.Type.TypeParams != nil || strings.Contains(before, "{") {
			panic(f.Name.Name + " cannot be copied")
		}
		s += "\n" + before + f.named(v) + "(" + after + "\n"
	}
	return s
}

func (f *function) named(v variant) string { return fmt.Sprintf("%s_%d", f.Name.Name, v.number) }
