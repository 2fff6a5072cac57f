package types

import (
	"encoding/binary"
	"strings"
)

// A Kind is what the elements of a member are.
type Kind int

// The kinds: LCM's primitive types, and Nested for a type that a file declares.
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

// primitives are the names that the language gives to kinds.
var primitives = [...]string{
	Int8: "int8_t", Int16: "int16_t", Int32: "int32_t", Int64: "int64_t", Byte: "byte",
	Float: "float", Double: "double", String: "string", Boolean: "boolean",
}

func (k Kind) String() string {
	if k == Nested {
		return "nested"
	}
	return primitives[k]
}

// kindOf is Nested for a word that is no primitive type.
func kindOf(name string) Kind {
	for k, p := range primitives {
		if p == name && name != "" {
			return Kind(k)
		}
	}
	return Nested
}

// integer reports whether members of this kind can size an array.
func (k Kind) integer() bool { return Int8 <= k && k <= Int64 }

// least is the fewest bytes that a value takes; it is 0 for Nested, whose types have it.
func (k Kind) least() int64 {
	switch k {
	case Int8, Byte, Boolean:
		return 1
	case Int16:
		return 2
	case Int32, Float:
		return 4
	case Int64, Double:
		return 8
	case String:
		return 5
	}
	return 0
}

// A Type is a struct or an enum that a file declares. Do not change it: others use it.
type Type struct {
	Position           // where it is declared
	Name        string // with its package: "probe.grid_t"
	Members     []Member
	Constants   []Constant
	Enum        bool
	Values      []Value // of an enum
	Fingerprint uint64

	least    int64 // the fewest bytes of a value; saturates at huge
	measured bool  // least is known
}

// A Member is a field of a struct, in the order of the file.
type Member struct {
	Position
	Name string
	Kind Kind
	Type *Type // where Kind is Nested
	Dims []Dim // the outer ones first; none for a plain value

	ref Reference
}

// A Reference is a type's name, where a member uses it.
type Reference struct {
	Position
	Name string
}

// A Dim is a dimension of an array.
type Dim struct {
	Text     string // as in the file: fingerprints need it
	Variable bool   // a member sizes it
	Size     int64  // if it is not Variable
	SizedBy  int    // if it is Variable: the number of that member in its struct
}

// A Constant is a named number in a struct. It is in no message and no fingerprint.
type Constant struct {
	Position
	Name  string
	Kind  Kind    // an integer, Float or Double
	Text  string  // as in the file
	Int   int64   // where Kind is an integer
	Float float64 // where Kind is Float or Double
}

// A Value is a named value of an enum.
type Value struct {
	Name  string
	Value int32
}

// variable reports whether a member sizes a dimension of m: then it may have no elements.
func (m *Member) variable() bool {
	for _, d := range m.Dims {
		if d.Variable {
			return true
		}
	}
	return false
}

// least is the fewest bytes that one element takes.
func (m *Member) least() int64 {
	if m.Kind == Nested {
		return m.Type.least
	}
	return m.Kind.least()
}

// FingerprintSize is how many bytes of a message its fingerprint is.
const FingerprintSize = 8

// FingerprintOf returns the first 8 bytes of a payload as a fingerprint; ok is false if it has fewer.
func FingerprintOf(payload []byte) (fingerprint uint64, ok bool) {
	if len(payload) < FingerprintSize {
		return 0, false
	}
	return binary.BigEndian.Uint64(payload), true
}

// shortName is the name without its package.
func (t *Type) shortName() string { return t.Name[strings.LastIndexByte(t.Name, '.')+1:] }
