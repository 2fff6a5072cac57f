// Package types reads LCM's .lcm files, computes the fingerprints that identify the types of messages, and turns messages
// into JSON without generated code. It agrees with lcm-gen 1.3.1 and the C that this writes.
//
// # Files
//
//	package probe;
//
//	struct grid_t
//	{
//	    const int32_t MAX_ROWS = 64, MAX_COLS = 32;
//	    int32_t   rows, cols;
//	    double    cell[rows][cols];   // sized by members that come before
//	    string    axis[2];
//	    reading_t first;              // of the same package
//	    other.limits_t limits;
//	}
//
// The primitive types are int8_t, int16_t, int32_t, int64_t, byte, float, double, string and boolean. An enum, which
// LCM keeps for old files, travels as an int32_t. A struct may hold arrays of itself if a member is their size.
//
// # Messages
//
// A message is the fingerprint of its type, 8 bytes, and then its members in order; integers and floats are
// big-endian, arrays have no length of their own, a string is an int32_t that counts its bytes and the NUL at their
// end. Only the fingerprint tells the type of a message: [Set.Of] looks it up. It covers the names and types of the
// members but not the name of the type, so two types may have the same one; then their messages mean the same.
//
// # JSON
//
// A struct is an object, with its members in the order of the file. Nothing is lost: the bytes of the message can be made
// of the text again. The same message gives the same text, byte for byte.
//
//   - Integers are numbers, with all their digits: an int64_t may be more than a JavaScript number holds.
//   - A float or double is the shortest number that is read back as the same, or "NaN", "Infinity", "-Infinity". A NaN with
//     other bits than C's NAN has them behind it: "NaN:7ff8000000000001".
//   - A boolean is true or false; another byte than 0 or 1, which C can send, is a number.
//   - A string is a JSON string. A string that is not UTF-8 is {"base64": "..."}.
//   - The bytes of the innermost dimension of a byte array are one string in base64.
//   - An enum is the name of its value, or a number if none has it.
//
// # Duties of the caller
//
//  1. Do not change what a [Set] returns.
//  2. A fingerprint is a weak hash: it protects from mistakes, not from attacks.
package types

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"metasim/internal/problem"
)

// A Kind is the type of a member or of its elements.
type Kind int

// The kinds are LCM's primitive types, and Nested for a type that a file declares.
const (
	Nested Kind = iota
	Int8
	Int16
	Int32
	Int64
	Byte
	Float
	Double
	String
	Boolean
)

// kindNames are the names of kinds in .lcm files.
var kindNames = [...]string{
	Nested: "nested", Int8: "int8_t", Int16: "int16_t", Int32: "int32_t", Int64: "int64_t", Byte: "byte",
	Float: "float", Double: "double", String: "string", Boolean: "boolean",
}

// leastBytes has the fewest bytes of a value of each kind. It is 0 for Nested: see Type.least.
var leastBytes = [...]int64{Int8: 1, Int16: 2, Int32: 4, Int64: 8, Byte: 1, Float: 4, Double: 8, String: 5, Boolean: 1}

func (k Kind) String() string { return kindNames[k] }

// kindOf returns Nested for a word that is no primitive type.
func kindOf(name string) Kind { return Kind(max(0, slices.Index(kindNames[:], name))) }

// integer reports whether members of this kind can size an array.
func (k Kind) integer() bool { return Int8 <= k && k <= Int64 }

// A Type is a struct or an enum that a file declares.
type Type struct {
	Position           // where it is declared
	Name        string // with its package: "probe.grid_t"
	Members     []Member
	Constants   []Constant
	Enum        bool
	Values      []Value // of an enum
	Fingerprint uint64

	least int64 // the fewest bytes of a value; saturates at huge
}

// A Member is a field of a struct, in the order of the file.
type Member struct {
	Position
	Name string
	Kind Kind
	Type *Type // if Kind is Nested
	Dims []Dim // the outer ones first; none for a plain value

	ref reference
}

// A reference is the name of a type where a member uses it.
type reference struct {
	Position
	Name string
}

// A Dim is a dimension of an array.
type Dim struct {
	Text     string // as in the file, for the fingerprint
	Variable bool   // a member is its size
	Size     int64  // if it is not Variable
	SizedBy  int    // if it is Variable: the number of that member in its struct
}

// A Constant is a named number in a struct. It is part of no message and no fingerprint.
type Constant struct {
	Position
	Name string
	Kind Kind   // an integer, Float or Double
	Text string // as in the file; it fits into Kind
}

// A Value is a named value of an enum.
type Value struct {
	Name  string
	Value int32
}

// variable reports whether a member is the size of a dimension of m: then m may have no elements.
func (m *Member) variable() bool {
	return slices.ContainsFunc(m.Dims, func(d Dim) bool { return d.Variable })
}

// least returns the fewest bytes of one element.
func (m *Member) least() int64 {
	if m.Kind == Nested {
		return m.Type.least
	}
	return leastBytes[m.Kind]
}

// shortName returns the name without its package.
func (t *Type) shortName() string { return t.Name[strings.LastIndexByte(t.Name, '.')+1:] }

// A Position is a place in a file. Lines and columns count from 1, columns in characters.
type Position struct {
	File         string
	Line, Column int
}

func (p Position) String() string { return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column) }

// fingerprintSize is the size of a fingerprint in a message, in bytes.
const fingerprintSize = 8

// FingerprintOf returns the first 8 bytes of a payload as a fingerprint; ok is false if it has fewer.
func FingerprintOf(payload []byte) (fingerprint uint64, ok bool) {
	if len(payload) < fingerprintSize {
		return 0, false
	}
	return binary.BigEndian.Uint64(payload), true
}

// An Error tells why a payload is no message of a type.
type Error struct {
	Path   string // of the wrong value: "probe.grid_t.readings[1].label"
	Offset int    // of the byte at which that begins in the payload
	What   string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s at byte %d: %s", e.Path, e.Offset, e.What)
}

// within adds the outer part to the path of an error. It is called when functions return, so that good messages cost nothing.
func (e *Error) within(format string, args ...any) *Error {
	e.Path = fmt.Sprintf(format, args...) + e.Path
	return e
}

// maxProblems is how many problems are kept: a file with more is probably no .lcm file.
const maxProblems = 100

// problems collects the problems of files.
type problems struct {
	list []problem.Problem
	more int // how many are not kept
}

func (ps *problems) add(at Position, format string, args ...any) {
	if ps.full() {
		ps.more++
		return
	}
	ps.list = append(ps.list, problem.Problem{File: at.File, Line: at.Line, Column: at.Column, Message: fmt.Sprintf(format, args...)})
}

// full reports whether no more problems are kept.
func (ps *problems) full() bool { return len(ps.list) == maxProblems }

// err returns the problems as a *[problem.Invalid], or nil if there are none.
func (ps *problems) err() error {
	if len(ps.list) == 0 {
		return nil
	}
	if ps.more > 0 {
		ps.list[maxProblems-1].Message += fmt.Sprintf(" (and %d more problems; mend these first)", ps.more+1)
	}
	return &problem.Invalid{Problems: problem.Sorted(ps.list)}
}
