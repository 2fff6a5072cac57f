package scenarios

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"metasim/internal/problem"
)

// maxSyntax is how many places that are no YAML are left out, to read what is behind them.
const maxSyntax = 10

// A syntaxError says where a text is not YAML, or YAML that scenarios do not use.
type syntaxError struct {
	problems []problem.Problem
	lines    []int // the first line of each part that cannot be read
	certain  bool  // it is no consequence of what was left out
	alone    bool  // what is indented deeper behind the lines is no part of them
}

// blank leaves out what is wrong, so that the rest can be read. It reports whether there was anything, and not too much.
func (e *syntaxError) blank(text []byte) (some bool) {
	if len(e.lines) > maxSyntax {
		return false
	}
	for _, line := range e.lines {
		some = blank(text, line, e.alone) || some
	}
	return some
}

// parseOnce is parse up to the first place that is no YAML.
func parseOnce(file string, text []byte) (root *node, problems []problem.Problem, broken *syntaxError) {
	tokens := lexer.Tokenize(string(text))
	if problems, broken := checkTokens(file, tokens); problems != nil || broken != nil {
		return nil, problems, broken
	}
	tree, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, nil, newSyntaxError(file, tokens, err)
	}
	c := converter{file: file}
	if len(tree.Docs) == 0 || tree.Docs[0].Body == nil {
		return nil, []problem.Problem{{File: file, Message: "holds nothing but comments; " + begin}}, nil
	}
	return c.node(tree.Docs[0].Body), c.problems, nil
}

func newSyntaxError(file string, tokens token.Tokens, err error) *syntaxError {
	at, why := place{file: file}, ""
	var syntax *yaml.SyntaxError
	if errors.As(err, &syntax) {
		at, why = placeOf(file, syntax.Token), " ("+syntax.Message+")"
	}
	message := "is no YAML here" + why + "; check indentation, brackets and quotes"
	broken := &syntaxError{problems: []problem.Problem{at.problem(nil, message)}, lines: []int{at.line}}
	var open []int // the lines of the brackets that are open before it
	for _, t := range tokens {
		switch {
		case t.Position.Line >= at.line:
			return broken
		case t.Type == token.SequenceStartType || t.Type == token.MappingStartType:
			open = append(open, t.Position.Line)
		case (t.Type == token.SequenceEndType || t.Type == token.MappingEndType) && len(open) > 0:
			open = open[:len(open)-1]
		}
		if broken.lines[0] = at.line; len(open) > 0 {
			broken.lines[0] = open[0]
		}
	}
	return broken
}

// blank overwrites a line and, unless it stands alone, those behind it that are indented deeper, which belong to it. It reports
// whether there was anything in them.
func blank(text []byte, line int, alone bool) (some bool) {
	depth := 0
	for i := 1; len(text) > 0; i++ {
		row, rest, _ := bytes.Cut(text, []byte{'\n'})
		indent, empty := len(row)-len(bytes.TrimLeft(row, " ")), len(bytes.TrimSpace(row)) == 0
		if i == line {
			depth = indent
		} else if i > line && (alone || !empty && indent <= depth) {
			break
		}
		if i >= line && line > 0 {
			some = some || !empty
			copy(row, bytes.Repeat([]byte{' '}, len(row)))
		}
		text = rest
	}
	return some
}

// refused are the features of YAML that scenarios do not use, and what to write instead.
var refused = map[token.Type]string{
	token.AnchorType:    "a YAML anchor (&) is not used in scenarios; write the value out where it is needed",
	token.AliasType:     "a YAML alias (*) is not used in scenarios; write the value out, and put a pattern such as \"*\" in quotes",
	token.MergeKeyType:  "a YAML merge key (<<) is not used in scenarios; write the keys out",
	token.TagType:       "a YAML tag (!) is not used in scenarios; put a text that begins with ! in quotes",
	token.DirectiveType: "a YAML directive (%) is not used in scenarios; put a text that begins with % in quotes",
}

// checkTokens bounds the work of the parser, which recurses, and is slow with mappings of many keys. What is refused, and nothing
// worse, is left out by the caller.
func checkTokens(file string, tokens token.Tokens) ([]problem.Problem, *syntaxError) {
	var (
		alien  = syntaxError{certain: true}
		flow   int     // open brackets and braces
		blocks []block // open lists and mappings in the indented style
	)
	for i, t := range tokens {
		at := func(message string) problem.Problem { return placeOf(file, t).problem(nil, message) }
		if message, ok := refused[t.Type]; ok {
			alien.problems, alien.lines = append(alien.problems, at(message)), append(alien.lines, t.Position.Line)
		}
		switch t.Type {
		case token.DocumentHeaderType:
			if i > 0 && tokens[i-1].Type != token.CommentType && alien.problems == nil {
				return []problem.Problem{at("begins a second document; keep one scenario in a file")}, nil
			}
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow = max(flow-1, 0)
		case token.MappingValueType, token.SequenceEntryType, token.MappingKeyType:
			if flow == 0 {
				var keys int
				blocks, keys = nest(blocks, column(tokens, i), t.Type == token.MappingValueType)
				if keys > maxKeys {
					return append(alien.problems, at(fmt.Sprintf("is the key number %d of one mapping; %d is the limit", keys, maxKeys))), nil
				}
			}
		}
		if flow+len(blocks) > maxDepth {
			return append(alien.problems, at(fmt.Sprintf("nests deeper than %d levels; a scenario needs six", maxDepth))), nil
		}
	}
	return nil, alien.orNone()
}

// orNone is nil where nothing is wrong.
func (e *syntaxError) orNone() *syntaxError {
	if len(e.problems) == 0 {
		return nil
	}
	return e
}

// A block is an open list or mapping in the indented style.
type block struct {
	column int
	keys   int // of a mapping
}

// nest closes the blocks that a token at that column ends, and opens one where the column is new.
func nest(blocks []block, column int, isKey bool) ([]block, int) {
	for len(blocks) > 0 && blocks[len(blocks)-1].column > column {
		blocks = blocks[:len(blocks)-1]
	}
	if len(blocks) == 0 || blocks[len(blocks)-1].column < column {
		blocks = append(blocks, block{column: column})
	}
	last := &blocks[len(blocks)-1]
	if isKey {
		last.keys++
	}
	return blocks, last.keys
}

// column returns where an entry begins: for the colon of a mapping, where its key begins.
func column(tokens token.Tokens, i int) int {
	if tokens[i].Type == token.MappingValueType && i > 0 && tokens[i-1].Position.Line == tokens[i].Position.Line {
		return tokens[i-1].Position.Column
	}
	return tokens[i].Position.Column
}

// A converter makes nodes of the parser's tree.
type converter struct {
	file     string
	problems []problem.Problem
}

func (c *converter) place(t *token.Token) place { return placeOf(c.file, t) }

func placeOf(file string, t *token.Token) place {
	if t == nil || t.Position == nil {
		return place{file: file}
	}
	return place{file, t.Position.Line, t.Position.Column}
}

func (c *converter) problem(at place, format string, args ...any) {
	c.problems = append(c.problems, at.problem(nil, fmt.Sprintf(format, args...)))
}

func (c *converter) node(n ast.Node) *node {
	switch n := n.(type) {
	case *ast.MappingNode:
		return c.mapping(n.Start, n.IsFlowStyle, n.Values)
	case *ast.MappingValueNode:
		return c.mapping(n.Start, n.IsFlowStyle, []*ast.MappingValueNode{n})
	case *ast.AnchorNode: // these three are refused where they stand
		return c.node(n.Value)
	case *ast.TagNode:
		return c.node(n.Value)
	case *ast.AliasNode:
		return &node{at: c.place(n.Start)}
	case *ast.SequenceNode:
		list := make([]*node, len(n.Values))
		for i, v := range n.Values {
			list[i] = c.node(v)
		}
		return &node{c.place(n.Start), list}
	case *ast.LiteralNode:
		return &node{c.place(n.Start), n.Value.Value}
	case *ast.StringNode:
		if n.Token.Type == token.SingleQuoteType || n.Token.Type == token.DoubleQuoteType {
			return &node{c.place(n.Token), n.Value}
		}
		return &node{c.place(n.Token), scalar(n.Value)}
	case ast.ScalarNode:
		t := n.GetToken()
		return &node{c.place(t), scalar(strings.TrimSpace(t.Value))}
	}
	at := c.place(n.GetToken())
	c.problem(at, "%s is not used in scenarios; write the value out", strings.ToLower(n.Type().YAMLName()))
	return &node{at: at}
}

func (c *converter) mapping(start *token.Token, flow bool, values []*ast.MappingValueNode) *node {
	m := &mapping{}
	result := &node{c.place(start), m}
	seen := map[string]place{}
	for i, v := range values {
		at := c.place(v.Key.GetToken())
		if i == 0 && !flow {
			result.at = at
		}
		if v.Key.Type() == ast.MergeKeyType {
			continue // refused where it stands
		}
		key, ok := v.Key.(ast.ScalarNode)
		if !ok {
			c.problem(at, "a key is a list or a mapping; use a word")
			continue
		}
		name := key.GetToken().Value
		if first, twice := seen[name]; twice {
			c.problem(at, "%q is written twice, first in line %d; keep one of them", name, first.line)
			continue
		}
		seen[name] = at
		m.entries = append(m.entries, entry{name, at, c.node(v.Value)})
	}
	return result
}

// treeOf makes nodes without places of decoded JSON.
func treeOf(plain any) *node {
	n := &node{at: place{file: "resolved scenario"}}
	switch v := plain.(type) {
	case json.Number:
		n.value = scalar(v.String())
	case []any:
		list := make([]*node, len(v))
		for i, item := range v {
			list[i] = treeOf(item)
		}
		n.value = list
	case object:
		m := &mapping{}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			m.entries = append(m.entries, entry{key, n.at, treeOf(v[key])})
		}
		n.value = m
	default:
		n.value = v
	}
	return n
}

// begin is the remedy for a file without a scenario.
const begin = `begin with "name: my-scenario" and a list of clients`

// checkText refuses texts that the YAML parser should not get: too large, empty, or with bytes that are no text.
func checkText(file string, text []byte) []problem.Problem {
	at := func(offset int, message string) []problem.Problem {
		line := 1 + bytes.Count(text[:offset], []byte{'\n'})
		column := 1 + utf8.RuneCount(text[bytes.LastIndexByte(text[:offset], '\n')+1:offset])
		return []problem.Problem{place{file, line, column}.problem(nil, message)}
	}
	if len(text) > maxBytes {
		return []problem.Problem{{File: file, Message: "is larger than 1 MiB; use count for many clients, and patterns for many links"}}
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
	return nil
}

// checkTabs finds tabs in the indentation, where YAML does not allow them and the parser's messages do not name them.
func checkTabs(file string, text []byte) *syntaxError {
	broken := syntaxError{certain: true, alone: true}
	for i, line := range bytes.Split(text, []byte{'\n'}) {
		rest := bytes.TrimLeft(line, " ")
		if len(rest) == 0 || rest[0] != '\t' || len(bytes.TrimSpace(rest)) == 0 {
			continue
		}
		at := place{file, i + 1, len(line) - len(rest) + 1}
		broken.problems = append(broken.problems, at.problem(nil, "is indented with a tab; indent with spaces"))
		broken.lines = append(broken.lines, i+1)
	}
	return broken.orNone()
}
