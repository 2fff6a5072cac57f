package types

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Types drawn at random go through lcm-gen and through this package, with the same results. Its C computes the
// fingerprints, reads the messages, prints what it understood and encodes it again.
func TestAgainstLCMGen(t *testing.T) {
	for _, tool := range []string{"lcm-gen", "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED LOUDLY: %s is missing, so nothing was compared with generated C; apt-get install liblcm-bin liblcm-dev gcc", tool)
		}
	}
	if _, err := os.Stat("/usr/include/lcm/lcm_coretypes.h"); err != nil {
		t.Skip("SKIPPED LOUDLY: lcm_coretypes.h is missing, so nothing was compared with generated C; apt-get install liblcm-dev")
	}
	var s *Set
	var payloads [][]byte
	dir := t.TempDir()
	const files = 8
	var all strings.Builder
	for seed := range files {
		text := rapid.Custom(func(t *rapid.T) string { return drawFile(t, false) }).Example(seed)
		all.WriteString(strings.NewReplacer("box", fmt.Sprintf("file%d.box", seed), "colors", fmt.Sprintf("colors%d", seed)).Replace(text))
	}
	s = parsed(t, all.String())
	for i, typ := range s.Types() {
		for seed := range 20 {
			payloads = append(payloads, rapid.Custom(func(t *rapid.T) []byte { return drawMessage(t, typ) }).Example(1000*i+seed))
		}
	}
	program := generated(t, dir, all.String(), s)
	lines := answers(t, program, s, payloads)
	for i, payload := range payloads {
		typ := s.Types()[i/20]
		values := flat(t, typ, back(t, typ, payload))
		want := fmt.Sprintf("%s %016x %d%s %x", typ.Name, typ.Fingerprint, len(payload), values, payload)
		require.Equal(t, want, lines[i], "what we make of it, and what generated C makes of it")
	}
	t.Logf("%d types and %d messages are what lcm-gen's C says", len(s.Types()), len(payloads))
}

// run runs a tool in a directory.
func command(t *testing.T, dir string, stdin []byte, name string, args ...string) []byte {
	var out, errs bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, bytes.NewReader(stdin), &out, &errs
	require.NoError(t, cmd.Run(), "%s: %s%s", name, out.String(), errs.String())
	return out.Bytes()
}

// generated has lcm-gen write C for the types, and compiles it with a main that serves all of them.
func generated(t *testing.T, dir, text string, s *Set) string {
	require.NoError(t, os.WriteFile(filepath.Join(dir, "types.lcm"), []byte(text), 0o644))
	command(t, dir, nil, "lcm-gen", "-c", "--c-no-pubsub", "types.lcm")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.c"), []byte(mainOf(s)), 0o644))
	sources, err := filepath.Glob(filepath.Join(dir, "*.c"))
	require.NoError(t, err)
	command(t, dir, nil, "gcc", append([]string{"-O0", "-w", "-o", "peer"}, sources...)...)
	return filepath.Join(dir, "peer")
}

// answers asks the program about messages: a line for each.
func answers(t *testing.T, program string, s *Set, payloads [][]byte) []string {
	var in []byte
	for i, p := range payloads {
		in = binary.NativeEndian.AppendUint32(in, uint32(i/20))
		in = binary.NativeEndian.AppendUint32(in, uint32(len(p)))
		in = append(in, p...)
	}
	lines := strings.Split(strings.TrimSpace(string(command(t, filepath.Dir(program), in, program))), "\n")
	require.Len(t, lines, len(payloads))
	return lines
}

const preface = `#include <stdio.h>
#include <inttypes.h>
static void integer(int64_t v) { printf(" %" PRId64, v); }
static void single(float v) { uint32_t u; memcpy(&u, &v, 4); printf(" %08" PRIx32, u); }
static void real(double v) { uint64_t u; memcpy(&u, &v, 8); printf(" %016" PRIx64, u); }
static void text(const char *s) { printf(" \""); while (*s) printf("%02x", (unsigned char) *s++); }
`

// mainOf writes a C program that reads (type, length, message) and prints name, fingerprint, bytes read, every value and
// the message encoded again.
func mainOf(s *Set) string {
	var includes, printers, cases strings.Builder
	for i, typ := range s.Types() {
		c := cName(typ)
		fmt.Fprintf(&includes, "#include \"%s.h\"\n", c)
		printers.WriteString(printerOf(typ))
		hash := "__" + c + "_get_hash()"
		fmt.Fprintf(&cases, `case %d: { %s v; int n = %s_decode(buf, 0, len, &v);
	if (n < 0) return 3;
	printf("%s %%016" PRIx64 " %%d", (uint64_t) %s, n); print_%s(&v);
	unsigned char *again = malloc(len); if (%s_encode(again, 0, len, &v) != n) return 4;
	printf(" "); for (int i = 0; i < n; i++) printf("%%02x", again[i]); printf("\n"); break; }
`, i, c, c, typ.Name, hash, c, c)
	}
	return "#include <string.h>\n" + includes.String() + preface + printers.String() + `int main(void) {
	uint32_t head[2];
	while (fread(head, 4, 2, stdin) == 2) {
		uint32_t len = head[1]; unsigned char *buf = malloc(len);
		if (fread(buf, 1, len, stdin) != len) return 2;
		switch (head[0]) {
` + cases.String() + "}}\nreturn 0; }\n"
}

func cName(typ *Type) string { return strings.ReplaceAll(typ.Name, ".", "_") }

// printerOf writes a C function that prints every value of a struct. A struct may hold itself only.
func printerOf(typ *Type) string {
	var b strings.Builder
	c := cName(typ)
	if typ.Enum {
		return fmt.Sprintf("static void print_%s(const %s *v) { integer((int32_t) *v); }\n", c, c)
	}
	for _, m := range typ.Members {
		if m.Type != nil && m.Type != typ {
			fmt.Fprintf(&b, "static void print_%s(const %s *v);\n", cName(m.Type), cName(m.Type))
		}
	}
	fmt.Fprintf(&b, "static void print_%s(const %s *v) {\n", c, c)
	for _, m := range typ.Members {
		value := "v->" + m.Name
		for i, d := range m.Dims {
			size := d.Text
			if d.Variable {
				size = "v->" + d.Text
			}
			fmt.Fprintf(&b, "for (int i%d = 0; i%d < %s; i%d++) ", i, i, size, i)
			value += fmt.Sprintf("[i%d]", i)
		}
		switch m.Kind {
		case Nested:
			fmt.Fprintf(&b, "print_%s(&%s);\n", cName(m.Type), value)
		case String:
			fmt.Fprintf(&b, "text(%s);\n", value)
		case Float:
			fmt.Fprintf(&b, "single(%s);\n", value)
		case Double:
			fmt.Fprintf(&b, "real(%s);\n", value)
		default:
			fmt.Fprintf(&b, "integer(%s);\n", value)
		}
	}
	b.WriteString("}\n")
	return b.String()
}

// flat prints the values of a JSON text as the C program prints those of the message. It reads the text with
// encoding/json, which knows nothing of how we write it.
func flat(t *testing.T, typ *Type, text []byte) string {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	require.NoError(t, d.Decode(&v))
	var b strings.Builder
	flatValue(t, &b, &Member{Kind: Nested, Type: typ}, v)
	return b.String()
}

func flatValue(t *testing.T, b *strings.Builder, m *Member, v any) {
	if list, ok := v.([]any); ok {
		for _, v := range list {
			flatValue(t, b, m, v)
		}
		return
	}
	if object, ok := v.(map[string]any); ok && m.Kind == Nested {
		for i := range m.Type.Members {
			inner := &m.Type.Members[i]
			require.Contains(t, object, inner.Name)
			flatValue(t, b, inner, object[inner.Name])
		}
		return
	}
	switch m.Kind {
	case String:
		fmt.Fprintf(b, " \"%x", stringOf(t, v))
	case Float:
		fmt.Fprintf(b, " %08x", bitsOf(t, v, 32))
	case Double:
		fmt.Fprintf(b, " %016x", bitsOf(t, v, 64))
	case Nested: // an enum
		for _, named := range m.Type.Values {
			if v == named.Name {
				v = named.Value
			}
		}
		fmt.Fprintf(b, " %v", v)
	case Boolean:
		switch v {
		case true:
			v = 1
		case false:
			v = 0
		}
		fmt.Fprintf(b, " %v", v)
	case Byte:
		if s, ok := v.(string); ok {
			raw, err := base64.StdEncoding.DecodeString(s)
			require.NoError(t, err)
			for _, c := range raw {
				fmt.Fprintf(b, " %d", c)
			}
			return
		}
		fmt.Fprintf(b, " %v", v)
	default:
		fmt.Fprintf(b, " %v", v)
	}
}

func stringOf(t *testing.T, v any) string {
	if object, ok := v.(map[string]any); ok {
		raw, err := base64.StdEncoding.DecodeString(object["base64"].(string))
		require.NoError(t, err)
		return string(raw)
	}
	return v.(string)
}

// bitsOf reads a float as any reader of JSON would.
func bitsOf(t *testing.T, v any, bits int) uint64 {
	if s, ok := v.(string); ok {
		if _, digits, ok := strings.Cut(s, ":"); ok {
			raw, err := hex.DecodeString(digits)
			require.NoError(t, err)
			return binary.BigEndian.Uint64(append(make([]byte, 8-len(raw)), raw...))
		}
		special := map[string][2]uint64{"NaN": {0x7fc00000, 0x7ff8 << 48}, "Infinity": {0x7f800000, 0x7ff0 << 48}, "-Infinity": {0xff800000, 0xfff0 << 48}}
		require.Contains(t, special, s)
		return special[s][bits/32-1]
	}
	f, err := strconv.ParseFloat(v.(json.Number).String(), bits)
	require.NoError(t, err)
	if bits == 32 {
		return uint64(math.Float32bits(float32(f)))
	}
	return math.Float64bits(f)
}
