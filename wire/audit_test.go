package wire_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"pgregory.net/rapid"

	"metasim/wire"
	"metasim/wire/wirepb"
)

// stay are the events and effects that never travel, and why.
var stay = map[string]string{
	"Join":    "a client says Hello; the server, which knows names and tokens, makes a Join of it",
	"Begin":   "the server says Start to each client",
	"Permit":  "it drives the run as a whole, from the server's side",
	"Credit":  "the gateway that gives it is in the process of the nested run",
	"Queue":   "what waits for a client is not its to know yet",
	"Lose":    "what was lost reaches nobody",
	"Evict":   "the server says Refuse, with the violation as its text",
	"Reached": "it answers a Permit",
	"Finish":  "the server says Refuse or Goodbye",
}

// noBodies are the structs in wire.go that are no bodies.
var noBodies = map[string]string{
	"Packet":       "it holds a body",
	"About":        "a part of Welcome",
	"Known":        "a part of Welcome",
	"Back":         "a part of Hello",
	"RefusedError": "the error of a client that got a Refuse",
	"Traffic":      "what a connection carried",
}

// Every event, effect and body either travels, and has a case in the codec, or is listed above with the reason.
func TestEverythingHasACodecCase(t *testing.T) {
	cases := rapid.Custom(bodies).Example(1)
	for name, where := range nouns(t) {
		why, stays := stay[name]
		_, travels := cases[name]
		switch {
		case stays && travels:
			t.Errorf("%s (%s) is said to stay because %q, and has a codec case; remove one of the two", name, where, why)
		case !stays && !travels:
			t.Errorf("%s (%s) has no codec case; add it to metasim.proto, Check, appendBody, bodyDecoder.body, bodies() in "+
				"codec_test.go and docs/protocol.md, or to stay in audit_test.go with the reason", name, where)
		}
	}
	for name, body := range cases {
		packet := wire.Packet{Member: 3, Body: body}
		got, err := wire.NewReader(bytes.NewReader(frames(t, packet)), "test").Read()
		require.NoError(t, err)
		require.Equal(t, []wire.Packet{packet}, got, name)
	}
}

// Each body has a field of its own in the proto, and each field a body: the generated code reads what the codec wrote.
func TestEveryFieldHasABody(t *testing.T) {
	fields := (&wirepb.Packet{}).ProtoReflect().Descriptor().Oneofs().ByName("body").Fields()
	seen := make(map[string]string)
	for name, body := range rapid.Custom(bodies).Example(1) {
		var twin wirepb.Frame
		require.NoError(t, proto.Unmarshal(frames(t, wire.Packet{Body: body})[4:], &twin))
		p := twin.Packets[0].ProtoReflect()
		field := p.WhichOneof(p.Descriptor().Oneofs().ByName("body"))
		require.NotNil(t, field, name)
		require.Empty(t, seen[string(field.Name())], "two bodies in one field")
		seen[string(field.Name())] = name
		require.Contains(t, strings.ReplaceAll(string(field.Name()), "_", ""), strings.ToLower(name)[:4])
	}
	for i := range fields.Len() {
		require.NotEmpty(t, seen[string(fields.Get(i).Name())], "field %s has no body", fields.Get(i).Name())
	}
}

// nouns are the events, effects and bodies by name, with the file that declares them.
func nouns(t *testing.T) map[string]string {
	t.Helper()
	found := make(map[string]string)
	files := token.NewFileSet()
	for _, dir := range []string{"../metasim", "."} {
		paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
		require.NoError(t, err)
		for _, path := range paths {
			file, err := parser.ParseFile(files, path, nil, 0)
			require.NoError(t, err)
			for _, d := range file.Decls {
				for _, name := range declared(path, d) {
					found[name] = path
				}
			}
		}
	}
	require.Greater(t, len(found), 15, "the audit finds nothing; mend it")
	return found
}

// declared returns the nouns of one declaration: types with a method client or effect, and the structs of wire.go.
func declared(path string, d ast.Decl) []string {
	var names []string
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil || d.Type.Params.NumFields() > 0 || d.Name.Name != "client" && d.Name.Name != "effect" {
			return nil
		}
		if pointer, ok := d.Recv.List[0].Type.(*ast.StarExpr); ok {
			names = append(names, pointer.X.(*ast.Ident).Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			s, ok := spec.(*ast.TypeSpec)
			if !ok || filepath.Base(path) != "wire.go" || noBodies[s.Name.Name] != "" {
				continue
			}
			if _, ok := s.Type.(*ast.StructType); ok {
				names = append(names, s.Name.Name)
			}
		}
	}
	return names
}
