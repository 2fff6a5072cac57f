package export

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"metasim/lcm/types"
)

// lcmText writes a type, and all that it is made of, in the language of LCM: one text that needs no other file. Types
// without a package come first, as a package holds up to the next one.
func lcmText(t *types.Type) []byte {
	all := closure(nil, t)
	slices.SortFunc(all, func(a, b *types.Type) int {
		pa, na := cut(a.Name)
		pb, nb := cut(b.Name)
		return cmp.Or(strings.Compare(pa, pb), strings.Compare(na, nb))
	})
	var b bytes.Buffer
	current := ""
	for _, t := range all {
		pkg, name := cut(t.Name)
		if pkg != current {
			fmt.Fprintf(&b, "package %s;\n\n", pkg)
			current = pkg
		}
		if t.Enum {
			writeEnum(&b, name, t)
		} else {
			writeStruct(&b, name, t)
		}
	}
	return b.Bytes()
}

// cut splits the name of a type into package and name.
func cut(full string) (pkg, name string) {
	i := strings.LastIndexByte(full, '.')
	return full[:max(i, 0)], full[i+1:]
}

// closure appends a type and all that it is made of, each once.
func closure(all []*types.Type, t *types.Type) []*types.Type {
	if slices.Contains(all, t) {
		return all
	}
	all = append(all, t)
	for i := range t.Members {
		if m := &t.Members[i]; m.Kind == types.Nested {
			all = closure(all, m.Type)
		}
	}
	return all
}

func writeEnum(b *bytes.Buffer, name string, t *types.Type) {
	fmt.Fprintf(b, "enum %s {", name)
	for i, v := range t.Values {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, " %s = %d", v.Name, v.Value)
	}
	b.WriteString(" }\n\n")
}

func writeStruct(b *bytes.Buffer, name string, t *types.Type) {
	fmt.Fprintf(b, "struct %s\n{\n", name)
	for _, c := range t.Constants {
		fmt.Fprintf(b, "    const %v %s = %s;\n", c.Kind, c.Name, c.Text)
	}
	for i := range t.Members {
		m := &t.Members[i]
		kind := m.Kind.String()
		if m.Kind == types.Nested {
			kind = m.Type.Name
		}
		fmt.Fprintf(b, "    %s %s", kind, m.Name)
		for _, d := range m.Dims {
			fmt.Fprintf(b, "[%s]", d.Text)
		}
		b.WriteString(";\n")
	}
	b.WriteString("}\n\n")
}
