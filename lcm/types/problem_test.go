package types

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/internal/problem"
)

// parsed reads one file called f.lcm.
func parsed(t require.TestingT, text string) *Set {
	s, err := newSet(source{"f.lcm", []byte(text)})
	require.NoError(t, err)
	return s
}

// What is wrong with a file is told with its place, and with what to do.
func TestProblems(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"struct a { int32_t x }", `f.lcm:1:22: "}" comes where ; is expected; put ; before it`},
		{"struct a { int x; }", `f.lcm:1:12: there is no type int; use int8_t, int16_t, int32_t, int64_t or byte`},
		{"struct a { uint8_t x; }", `f.lcm:1:12: there is no type uint8_t; use int8_t, int16_t, int32_t, int64_t or byte`},
		{"struct a { duoble x; }", `f.lcm:1:12: there is no type duoble; did you mean "double"?`},
		{"package p; struct a_t { } struct b { q.a_t x; }", `f.lcm:1:38: there is no type q.a_t; did you mean "p.a_t"?`},
		{"package p; struct abc_t { } struct b { abd_t x; }", `f.lcm:1:40: there is no type p.abd_t; did you mean "p.abc_t"?`},
		{"struct a { nothing_like_it x; }", `f.lcm:1:12: there is no type nothing_like_it; declare it, or load the files that do`},
		{"package p; struct a { p.int8_t x; }", `f.lcm:1:23: there is no type p.int8_t; did you mean "int8_t"?`},
		{"struct a { };", `f.lcm:1:13: nothing ends with ; here; leave it out`},
		{"struct a { int8_t x;", `f.lcm:1:21: the file ends inside a; close it with }`},
		{"struct a {\n\tint8_t x;\nstruct b { }", `f.lcm:3:1: "struct" inside of a; close that with }, and declare types beside one another`},
		{"struct a { int8_t x, x; }", `f.lcm:1:22: a has two members or constants called "x"; rename one`},
		{"struct a { const int8_t x = 1; int8_t x; }", `f.lcm:1:39: a has two members or constants called "x"; rename one`},
		{"struct a { }\nstruct a { }", `f.lcm:2:8: a is declared a second time, after f.lcm:1:8; remove one`},
		{"struct a { }\nenum a { X }", `f.lcm:2:6: a is declared a second time, after f.lcm:1:8; remove one`},
		{"struct byte { }", `f.lcm:1:8: "byte" is a primitive type; choose another name`},
		{"struct a { int8_t a.b; }", `f.lcm:1:19: the name of a member has a dot in it: "a.b"; use letters, digits and _`},
		{"struct a { b. x; }", `f.lcm:1:12: "b." is no name; put one dot between the parts of a package`},
		{"struct a { int8_t 1x; }", `f.lcm:1:19: "1x" comes where the name of a member is expected; it begins with a letter or _`},
		{"struct a { int8_t é; }", `f.lcm:1:19: "é" means nothing here; remove it`},
		{"/* é */ /* open", `f.lcm:1:9: this comment does not end; close it with */`},
		{"int8_t x;", `f.lcm:1:1: "int8_t" is out of place; a file has package, struct and enum`},
		{"package p\nstruct a { }", `f.lcm:2:1: "struct" comes where ; is expected; put ; before it`},
		// arrays
		{"struct a { int8_t x[0]; }", `f.lcm:1:21: "0" is no size; use 1 or more`},
		{"struct a { int8_t x[-1]; }", `f.lcm:1:21: "-1" is no size; use 1 or more`},
		{"struct a { int8_t x[3000000000]; }", `f.lcm:1:21: "3000000000" does not fit into int32_t; use -2147483648 to 2147483647`},
		{"struct a { int8_t x[3x]; }", `f.lcm:1:21: "3x" is no whole number; write it as 10, -10 or 0xa`},
		{"struct a { int8_t x[]; }", `f.lcm:1:21: "]" comes where the size of an array is expected; write a number, or an integer member that comes before`},
		{"struct a { int8_t x[n]; int8_t n; }", `f.lcm:1:21: "n" is no member that comes before; use a number`},
		{"struct a { int8_t n[n]; }", `f.lcm:1:21: "n" is no member that comes before; use a number`},
		{"struct a { int8_t count; int8_t x[cuont]; }", `f.lcm:1:35: "cuont" is no member that comes before; did you mean "count"?`},
		{"struct a { double n; int8_t x[n]; }", `f.lcm:1:31: "n" is no integer, so it cannot size an array; use a member of int8_t, int16_t, int32_t or int64_t`},
		{"struct a { byte n; int8_t x[n]; }", `f.lcm:1:29: "n" is no integer, so it cannot size an array; use a member of int8_t, int16_t, int32_t or int64_t`},
		{"struct a { int8_t n[2]; int8_t x[n]; }", `f.lcm:1:34: "n" is no integer, so it cannot size an array; use a member of int8_t, int16_t, int32_t or int64_t`},
		{"struct a { const int8_t n = 2; int8_t x[n]; }", `f.lcm:1:41: "n" is a constant, which cannot size an array; write the number`},
		{"struct a { int8_t x" + strings.Repeat("[1]", 65) + "; }", `f.lcm:1:19: x has 65 dimensions; use at most 64`},
		// constants
		{"struct a { const string s = 1; }", `f.lcm:1:18: a constant cannot be of type "string"; use int8_t, int16_t, int32_t, int64_t, float or double`},
		{"struct a { const int8_t x = 128; }", `f.lcm:1:29: "128" does not fit into int8_t; use -128 to 127`},
		{"struct a { const int8_t x = 0xff; }", `f.lcm:1:29: "0xff" does not fit into int8_t; use -128 to 127`},
		{"struct a { const int64_t x = 9223372036854775808; }", `f.lcm:1:30: "9223372036854775808" does not fit into int64_t; use -9223372036854775808 to 9223372036854775807`},
		{"struct a { const int8_t x = y; }", `f.lcm:1:29: "y" comes where a whole number is expected; write it in digits`},
		{"struct a { const int8_t x = 1.0; }", `f.lcm:1:29: "1.0" is no whole number; write it as 10, -10 or 0xa`},
		{"struct a { const int8_t x = 1_0; }", `f.lcm:1:29: "1_0" is no whole number; write it as 10, -10 or 0xa`},
		{"struct a { const int8_t x = 08; }", `f.lcm:1:29: "08" is no whole number; write it as 10, -10 or 0xa`},
		{"struct a { const float x = 1e39; }", `f.lcm:1:28: "1e39" is more than a float holds; use a smaller number`},
		{"struct a { const double x = 1..2; }", `f.lcm:1:29: "1..2" comes where a number is expected; write it as 1.5 or 1e-3`},
		{"struct a { const double x = inf; }", `f.lcm:1:29: "inf" comes where a number is expected; write it as 1.5 or 1e-3`},
		// enums
		{"enum e { A, B=1 }", `f.lcm:1:13: B = 1 is taken by A = 1; change it`},
		{"enum e { A, A }", `f.lcm:1:13: A = 2 is taken by A = 1; change it`},
		{"enum e { A = 2147483647, B }", `f.lcm:1:26: no value is left for B; give it one`},
		{"enum e { A = x }", `f.lcm:1:14: "x" comes where a whole number is expected; write it in digits`},
		{"enum e { A", `f.lcm:1:11: the end of the file comes where the name of an enum's value is expected; it begins with a letter or _`},
		// circles
		{"struct a { a x; }", `f.lcm:1:14: a holds itself: a -> a; make it an array that a member sizes`},
		{"struct a { b x; }\nstruct b { c x; }\nstruct c { int8_t n; b y[2]; a z[n]; }",
			`f.lcm:3:24: b holds itself: b -> c -> b; make it an array that a member sizes`},
	} {
		_, err := newSet(source{"f.lcm", []byte(c.text)})
		require.EqualError(t, err, c.want, "%s", c.text)
	}
}

// All of them are told at once, in the order of the files.
func TestProblemsTogether(t *testing.T) {
	_, err := newSet(
		source{"b.lcm", []byte("struct b { a x; int8_t y[z]; }\n struct c { in32_t i; }")},
		source{"a.lcm", []byte("struct a {\n int8_t 7;\n int8_t good;\n const foo x = 1;\n}\nenum e { A=1, B=1 }\nstruct d { nope x; }")})
	var invalid *problem.Invalid
	require.ErrorAs(t, err, &invalid)
	var at []string
	for _, p := range invalid.Problems {
		at = append(at, fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column))
	}
	require.Equal(t, []string{"a.lcm:2:9", "a.lcm:4:8", "a.lcm:6:15", "a.lcm:7:12", "b.lcm:1:26", "b.lcm:2:13"}, at)

	_, err = newSet(source{"f.lcm", []byte(strings.Repeat("§ ", 5000))})
	require.ErrorAs(t, err, &invalid)
	require.Len(t, invalid.Problems, maxProblems)
	require.Contains(t, err.Error(), "and 4901 more problems")
}

func TestBounds(t *testing.T) {
	_, err := newSet(source{"f.lcm", make([]byte, maxFile+1)})
	require.ErrorContains(t, err, "f.lcm:1:1: the file has 1048577 bytes; use at most 1048576")

	var many strings.Builder
	for i := range maxTypes + 1 {
		fmt.Fprintf(&many, "struct s%d{}", i)
	}
	_, err = newSet(source{"f.lcm", []byte(many.String())})
	require.ErrorContains(t, err, "there are more than 20000 types; load fewer")

	// Each refers to all: the paths are as many as there are orders of 20 things.
	var tangle strings.Builder
	for i := range 20 {
		fmt.Fprintf(&tangle, "struct s%d { int8_t n; ", i)
		for j := range 20 {
			fmt.Fprintf(&tangle, "s%d m%d[n]; ", j, j)
		}
		tangle.WriteString("}\n")
	}
	_, err = newSet(source{"f.lcm", []byte(tangle.String())})
	require.ErrorContains(t, err, "f.lcm:1:8: s0 refers to itself in too many ways for a fingerprint; use fewer types")

	// Each holds the one before twice: as many paths, but no circle, so that each is looked at once.
	var tower strings.Builder
	tower.WriteString("struct s0 { }\n")
	for i := range 500 {
		fmt.Fprintf(&tower, "struct s%d { s%d a, b; }\n", i+1, i)
	}
	top := parsed(t, tower.String()).Lookup("s500")
	_, err = top.AppendJSON(nil, fingerprinted(top))
	require.ErrorContains(t, err, "more than 65536 structs and elements that take no bytes")
}

// Files that lcm-gen takes are taken, however they are laid out.
func TestLayout(t *testing.T) {
	s := parsed(t, "/* a\n comment * / */ package a.b;//x\r\nstruct c_t{int8_t n/**/;double x [ n ] [0x2],y;}enum e{A,B=0x10;C D=-1,}"+
		"struct lone.d_t { a.b.c_t c; c_t d; const double E = -1.5e-3, F=.5, G=1.; const int64_t M = 0xffffffffffffffff, N = 010; const int8_t O = -128; }")
	c, e, d := s.Lookup("a.b.c_t"), s.Lookup("a.b.e"), s.Lookup("lone.d_t")
	require.Len(t, s.Types(), 3)
	require.Equal(t, Position{"f.lcm", 3, 8}, c.Position)
	require.Equal(t, []Dim{{Text: "n", Variable: true}, {Text: "0x2", Size: 2}}, c.Members[1].Dims)
	require.Empty(t, c.Members[2].Dims)
	require.Equal(t, []Value{{"A", 1}, {"B", 16}, {"C", 17}, {"D", -1}}, e.Values)
	require.Same(t, c, d.Members[0].Type)
	require.Same(t, c, d.Members[1].Type, "a name without a package is of the package of the file")
	var constants []string
	for _, c := range d.Constants {
		constants = append(constants, c.Kind.String()+" "+c.Name+" "+c.Text)
	}
	require.Equal(t, []string{"double E -1.5e-3", "double F .5", "double G 1.", "int64_t M 0xffffffffffffffff", "int64_t N 010", "int8_t O -128"},
		constants)
	for text, want := range map[string]int64{"0xffffffffffffffff": -1, "010": 8, "-128": -128} {
		n, err := parseInteger(text, Int64)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	empty, err := newSet()
	require.NoError(t, err)
	require.Empty(t, empty.Types())
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		return file
	}
	write("a/deep/er/x.lcm", "package p; struct x_t { q.y_t y; }")
	y := write("b/y.lcm", "package q; struct y_t { }")
	write("a/README", "struct this is no file of types")
	write("c/README", "")
	bad := write("d/bad.lcm", "struct {")

	s, err := Load(filepath.Join(dir, "a"), filepath.Join(dir, "a", "deep"), y)
	require.NoError(t, err)
	require.NotNil(t, s.Lookup("p.x_t"))
	require.NotNil(t, s.Lookup("q.y_t"))

	_, err = Load(filepath.Join(dir, "a"))
	require.ErrorContains(t, err, filepath.Join(dir, "a/deep/er/x.lcm")+":1:25: there is no type q.y_t")
	_, err = Load(filepath.Join(dir, "d"))
	require.ErrorContains(t, err, bad+":1:8: ")
	_, err = Load(filepath.Join(dir, "c"))
	require.EqualError(t, err, filepath.Join(dir, "c")+": no file there ends in .lcm; name the directory that has them")
	_, err = Load(filepath.Join(dir, "e"))
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.Mkdir(filepath.Join(dir, "c", "z.lcm"), 0o755))
	_, err = Load(filepath.Join(dir, "c"))
	require.ErrorContains(t, err, "no file there ends in .lcm")
	link := filepath.Join(dir, "b", "link.lcm")
	require.NoError(t, os.Symlink(dir, link))
	_, err = Load(filepath.Join(dir, "b"))
	require.EqualError(t, err, link+": this is no regular file; remove it, or name another directory")
}
