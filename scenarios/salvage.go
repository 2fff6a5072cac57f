package scenarios

import (
	"bytes"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"

	"metasim/internal/problem"
)

// parse reads YAML, of which JSON is a part, into nodes. It refuses anchors, aliases, merge keys, tags, directives and further
// documents, so that a file means what it shows and no small file can expand into a large one. The root is nil where too little
// was understood to look for other problems.
func parse(file string, text []byte) (*node, []problem.Problem) {
	text = bytes.TrimPrefix(text, []byte("\ufeff")) // the byte order mark that some editors write
	if problems := checkText(file, text); problems != nil {
		return nil, problems
	}
	var root *node
	var problems []problem.Problem
	broken := checkTabs(file, text)
	if broken == nil {
		root, problems, broken = parseOnce(file, text)
	}
	if broken == nil {
		return root, problems
	}
	if broken.certain {
		problems = unknownKeys(file, text)
	}
	text = bytes.Clone(text)
	behind := 0 // the first line of what was blanked last
	for i := 0; broken != nil && i < maxSyntax; i++ {
		if broken.certain || broken.lines[0]+1 != behind { // an error just before the blanked lines may come from the blanking
			problems = append(problems, broken.problems...)
		}
		behind = broken.lines[0]
		if !broken.blank(text) {
			return nil, problems
		}
		var found []problem.Problem
		if root, found, broken = parseOnce(file, text); broken == nil && root != nil {
			problems = append(problems, found...) // keys that are written twice
		}
	}
	return nil, problems
}

// unknownKeys finds the keys that no scenario has, in a text with features of YAML that scenarios do not use: a key is as wrong beside an
// alias, or behind an anchor. It finds nothing where the text is no YAML.
func unknownKeys(file string, text []byte) (problems []problem.Problem) {
	tokens := lexer.Tokenize(string(text))
	if worse, alien := checkTokens(file, tokens); worse != nil || alien == nil {
		return nil // too much for the parser, or tabs alone
	}
	tree, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil || len(tree.Docs) == 0 || tree.Docs[0].Body == nil {
		return nil
	}
	c := converter{file: file}
	found, err := validate(c.node(tree.Docs[0].Body))
	if err != nil {
		return nil // a mistake of metasim, which is told when the rest of the file is right
	}
	for _, p := range found {
		if p.unknown {
			problems = append(problems, p.Problem)
		}
	}
	return problems
}
