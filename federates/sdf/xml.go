package sdf

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of a document, so that a hostile one ends with an error.
const (
	maxBytes    = 64 << 20 // of one file
	maxDepth    = 100      // elements within elements
	maxElements = 1 << 18  // of a file with all that it includes

	maxAttributes = 256 // of an element
)

// A node is an element as it stands in a file, with what the parser needs beside it.
type node struct {
	Element
	children []*node
	words    []byte // before its end tag: Text
	raw      string // of a plugin: what is between its tags, without comments
	from     int    // where raw begins in the file
	closed   bool   // its text has ended: another element followed
}

// parseXML returns the elements at the top of a file. An error names the line.
func parseXML(file string, text []byte, count *int) ([]*node, error) {
	if len(text) > maxBytes {
		return nil, complaint{Place{File: file}, fmt.Sprintf("has %d bytes, and %d are the limit; split it, and include the parts", len(text), maxBytes)}
	}
	text = mend(text)
	d := xml.NewDecoder(bytes.NewReader(text))
	root := &node{}
	open := []*node{root}
	for {
		line, column := d.InputPos()
		at, before := Place{file, line, column}, int(d.InputOffset())
		token, err := d.RawToken()
		top := open[len(open)-1]
		switch token := token.(type) {
		case xml.StartElement:
			if *count++; *count > maxElements || len(open) > maxDepth {
				return nil, complaint{at, fmt.Sprintf("a world has at most %d elements, and at most %d within one another; make it smaller", maxElements, maxDepth)}
			}
			n, err := newNode(at, token)
			if err != nil {
				return nil, err
			}
			n.from = int(d.InputOffset())
			top.children, top.closed = append(top.children, n), true
			open = append(open, n)
		case xml.EndElement:
			if name := prefixed(token.Name); len(open) == 1 || top.Name != name {
				return nil, complaint{at, fmt.Sprintf("</%s> closes nothing that is open; %s", name, closeFirst(open))}
			}
			if before > top.from && top.Name == "plugin" && !slices.ContainsFunc(open[:len(open)-1], isPlugin) {
				top.raw = string(text[top.from:before])
			}
			top.Text, top.words = strings.TrimSpace(string(top.words)), nil
			open = open[:len(open)-1]
		case xml.ProcInst:
			return nil, complaint{at, "<?" + token.Target + " stands behind the beginning of the file; remove it"}
		case xml.CharData:
			if len(open) == 1 && len(root.children) > 0 && len(bytes.TrimSpace(token)) > 0 {
				return nil, complaint{at, "there is text after the end; remove it"}
			}
			if !top.closed {
				top.words = append(top.words, token...)
			}
		}
		if errors.Is(err, io.EOF) {
			if len(open) > 1 {
				return nil, complaint{at, "the file ends too early; " + closeFirst(open)}
			}
			return root.children, nil
		}
		if err != nil {
			return nil, complaint{at, notXML(err)}
		}
	}
}

// closeFirst says which element has to be closed first.
func closeFirst(open []*node) string {
	if len(open) == 1 {
		return "remove it"
	}
	top := open[len(open)-1]
	return fmt.Sprintf("close <%s> of line %d first", top.Name, top.Place.Line)
}

// notXML says what is wrong with a file in the words of the XML reader, without its own count of lines.
func notXML(err error) string {
	var syntax *xml.SyntaxError
	if errors.As(err, &syntax) {
		return "this is no XML: " + syntax.Msg + "; mend the tag"
	}
	return "this is no XML: " + err.Error() + "; mend the tag"
}

func isPlugin(n *node) bool { return n.Name == "plugin" }

func newNode(at Place, start xml.StartElement) (*node, error) {
	n := &node{Element: Element{Place: at, Name: prefixed(start.Name)}}
	if len(start.Attr) > maxAttributes {
		return nil, complaint{at, fmt.Sprintf("<%s> has %d attributes, and %d are the limit; leave some out", n.Name, len(start.Attr), maxAttributes)}
	}
	for _, a := range start.Attr {
		name := prefixed(a.Name)
		if _, twice := n.Attribute(name); twice {
			return nil, complaint{at, fmt.Sprintf("<%s> has the attribute %s twice; remove one", n.Name, name)}
		}
		n.Attributes = append(n.Attributes, Attribute{name, a.Value})
	}
	return n, nil
}

func prefixed(name xml.Name) string {
	if name.Space == "" {
		return name.Local
	}
	return name.Space + ":" + name.Local
}

// child returns the first child of a name; nil if there is none.
func (n *node) child(name string) *node {
	for _, c := range n.children {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// each calls f for all children of a name.
func (n *node) each(name string, f func(*node)) {
	for _, c := range n.children {
		if c.Name == name {
			f(c)
		}
	}
}

// element returns what is kept of an element that is passed on as it stands.
func (n *node) element() *Element {
	e := n.Element
	for _, c := range n.children {
		e.Children = append(e.Children, c.element())
	}
	return &e
}

// mend returns text that Go's XML reader takes wherever that of Gazebo takes it: without comments, as those may have "--" in them;
// without a declaration; with what begins no entity and no tag written out; up to a zero byte. Lines stay where they are.
func mend(text []byte) []byte {
	if end := bytes.IndexByte(text, 0); end >= 0 {
		text = text[:end]
	}
	if !utf8.Valid(text) {
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	m := mender{out: make([]byte, 0, len(text)+64), start: true}
	for len(text) > 0 {
		text = text[m.step(text):]
	}
	return m.out
}

// A mender knows where in a file it is.
type mender struct {
	out   []byte
	start bool // nothing but declarations and spaces so far
	tag   bool // between < and >
	quote byte // the one that ends the value of an attribute; 0 outside of one
}

// step writes what text begins with, and returns how long that is.
func (m *mender) step(text []byte) int {
	if m.quote == 0 && !m.tag {
		for _, s := range []struct {
			begin, end string
			blank      bool
		}{{"<!--", "-->", true}, {"<?", "?>", m.start}, {"<![CDATA[", "]]>", false}} {
			if !bytes.HasPrefix(text, []byte(s.begin)) {
				continue
			}
			n := span(text, s.end)
			switch {
			case n == 0: // an open end is an error, which the reader names
				n = len(text)
				m.out = append(m.out, text...)
			case s.blank:
				m.out = blank(m.out, text[:n])
			default:
				m.out = append(m.out, text[:n]...)
			}
			return n
		}
		if bytes.HasPrefix(text, []byte("]]>")) {
			m.out = append(m.out, "]]&gt;"...)
			return 3
		}
	}
	c := text[0]
	m.start = m.start && c <= ' '
	switch {
	case c == '&' && !entity(text):
		m.out = append(m.out, "&amp;"...)
	case c == '<' && m.quote != 0:
		m.out = append(m.out, "&lt;"...)
	case c < ' ' && c != '\n' && c != '\t' && c != '\r':
		m.out = append(m.out, ' ')
	default:
		m.out = append(m.out, c)
	}
	switch {
	case m.quote == 0 && c == '<':
		m.tag = true
	case m.quote == 0 && c == '>':
		m.tag = false
	case m.quote == c:
		m.quote = 0
	case m.quote == 0 && m.tag && (c == '"' || c == '\''):
		m.quote = c
	}
	return 1
}

// span returns how long text is up to the end of a mark; 0 without it.
func span(text []byte, mark string) int {
	i := bytes.Index(text, []byte(mark))
	if i < 0 {
		return 0
	}
	return i + len(mark)
}

// blank appends spaces for text, and keeps its lines.
func blank(out, text []byte) []byte {
	for _, b := range text {
		if b != '\n' {
			b = ' '
		}
		out = append(out, b)
	}
	return out
}

// entity reports whether text begins with an entity that every XML reader knows.
func entity(text []byte) bool {
	name, _, ended := bytes.Cut(text[1:min(len(text), 12)], []byte(";"))
	if !ended {
		return false
	}
	switch string(name) {
	case "amp", "lt", "gt", "quot", "apos":
		return true
	}
	digits, hex := bytes.CutPrefix(name, []byte("#x"))
	if !hex {
		var number bool
		if digits, number = bytes.CutPrefix(name, []byte("#")); !number {
			return false
		}
	}
	var n rune
	base := "%d"
	if hex {
		base = "%x"
	}
	got, err := fmt.Sscanf(string(digits), base, &n)
	return err == nil && got == 1 && utf8.ValidRune(n) && n >= ' '
}
