package types

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"

	"pgregory.net/rapid"
)

// drawFile draws a file of types. A tangled one has circles of several structs, which C cannot have.
func drawFile(t *rapid.T, tangled bool) string {
	var b strings.Builder
	n := rapid.IntRange(1, 12).Draw(t, "structs")
	levels := make([]int, n)
	name := func(i int) string { return fmt.Sprintf("box%d.sub.s%d_t", i%3, i) }
	b.WriteString("package colors; enum color_t { RED, GREEN = 7, BLUE = -3 }\n")
	for i := range n {
		fmt.Fprintf(&b, "package box%d.sub; // the type %s\nstruct s%d_t\n{\n", i%3, name(i), i)
		var sizes []string
		for j := range rapid.IntRange(0, 7).Draw(t, "members") {
			long := rapid.SampledFrom([]int{0, 0, 0, 80}).Draw(t, "long") // for C, lcm-gen can do no more
			member := fmt.Sprintf("m%d%s", j, strings.Repeat("x", long))
			what, dims := drawType(t), drawDims(t, sizes)
			switch what {
			case "lower":
				if i == 0 || levels[i-1] > 2 {
					what = "color"
					break
				}
				k := rapid.IntRange(0, i-1).Draw(t, "which")
				what, levels[i] = name(k), max(levels[i], levels[k]+1)
			case "self":
				if len(sizes) == 0 {
					what = "byte"
					break
				}
				if what = name(i); tangled {
					what = name(rapid.IntRange(0, n-1).Draw(t, "which"))
				}
				dims = "[" + sizes[0] + "]"
			}
			if what == "color" {
				what, dims = "colors.color_t", "" // in arrays of enums, lcm-gen's C is wrong
			}
			if kindOf(what).integer() && dims == "" {
				sizes = append(sizes, member)
			}
			fmt.Fprintf(&b, "    %s %s%s;\n", what, member, dims)
		}
		if rapid.Bool().Draw(t, "constant") {
			fmt.Fprintf(&b, "    const double LIMIT = %f;\n", rapid.Float64Range(-1e9, 1e9).Draw(t, "limit"))
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// drawType draws the name of a primitive type, or "lower", "self" or "color".
func drawType(t *rapid.T) string {
	return rapid.SampledFrom(append(kindNames[1:], "int8_t", "int32_t", "lower", "lower", "self", "color")).Draw(t, "type")
}

func drawDims(t *rapid.T, sizes []string) string {
	dims := ""
	for range rapid.SampledFrom([]int{0, 0, 0, 1, 1, 2, 3}).Draw(t, "dims") {
		size := rapid.SampledFrom(append([]string{"1", "0x2", "3"}, sizes...)).Draw(t, "size")
		dims += "[" + size + "]"
	}
	return dims
}

// drawMessage draws a message of a type. If it is for C, no string has a NUL in it.
func drawMessage(t *rapid.T, typ *Type) []byte {
	rapid.Bool().Draw(t, "anything") // rapid wants a draw, and an empty struct has none
	return drawBody(t, typ, 0, binary.BigEndian.AppendUint64(nil, typ.Fingerprint))
}

func drawBody(t *rapid.T, typ *Type, depth int, b []byte) []byte {
	if typ.Enum {
		return binary.BigEndian.AppendUint32(b, rapid.Uint32().Draw(t, "value"))
	}
	counts := make([]int, len(typ.Members))
	for i, m := range typ.Members {
		n, counted := 1, false
		for _, d := range m.Dims {
			if d.Variable {
				n *= counts[d.SizedBy]
			} else {
				n *= int(d.Size)
			}
		}
		for _, other := range typ.Members {
			for _, d := range other.Dims {
				counted = counted || d.Variable && d.SizedBy == i
			}
		}
		if counted {
			if depth < 4 {
				counts[i] = rapid.IntRange(0, 2).Draw(t, "count")
			}
			b = appendInteger(b, uint64(counts[i]), int(leastBytes[m.Kind]))
			continue
		}
		for range n {
			b = drawElement(t, m, depth, b)
		}
	}
	return b
}

func drawElement(t *rapid.T, m Member, depth int, b []byte) []byte {
	switch m.Kind {
	case Nested:
		return drawBody(t, m.Type, depth+1, b)
	case String:
		s := rapid.SliceOfN(rapid.ByteRange(1, 255), 0, 5).Draw(t, "bytes")
		if rapid.Bool().Draw(t, "utf8") {
			s = []byte(strings.ReplaceAll(rapid.StringN(0, 5, -1).Draw(t, "string"), "\x00", ""))
		}
		return append(append(binary.BigEndian.AppendUint32(b, uint32(len(s)+1)), s...), 0)
	case Float:
		return binary.BigEndian.AppendUint32(b, rapid.OneOf(rapid.Map(rapid.Float32(), math.Float32bits), rapid.Uint32()).Draw(t, "float"))
	case Double:
		return binary.BigEndian.AppendUint64(b, rapid.OneOf(rapid.Map(rapid.Float64(), math.Float64bits), rapid.Uint64()).Draw(t, "double"))
	}
	return appendInteger(b, rapid.Uint64().Draw(t, "integer"), int(leastBytes[m.Kind]))
}

func appendInteger(b []byte, v uint64, size int) []byte {
	for i := size - 1; i >= 0; i-- {
		b = append(b, byte(v>>(8*i)))
	}
	return b
}
