package wasm

import (
	"context"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"

	"metasim/federates/ecm"
	"metasim/federates/sdf"
	"metasim/federates/world"
	"metasim/metasim"
)

// A guest is a module, written by hand: an import, a memory, and functions without parameters.
type guest struct {
	module, name   string // of the import, function 0
	params         string // of the import: a byte for each, i32 or i64
	memory         byte   // pages; 0: none
	data           string // at 0
	configure, pre string // code; none: not exported
	wrong          bool   // pre_update has a result
}

// Code, as WebAssembly has it.
const (
	unreachable = "\x00"
	loopForever = "\x03\x40\x0c\x00\x0b"         // loop: branch to it
	growBy      = "\x41\xff\xff\x03\x40\x00\x1a" // memory.grow by 65535 pages, and what comes of it is dropped
	one32       = "\x41\x01"
	one64       = "\x42\x01"
	callImport  = "\x10\x00"
	recurse     = "\x10\x01" // calls configure
)

func vector(parts ...string) string { return string(rune(len(parts))) + strings.Join(parts, "") }

func section(id byte, content string) string {
	return string([]byte{id}) + sized(content)
}

func sized(s string) string { return string(binary.AppendUvarint(nil, uint64(len(s)))) + s }

func (g guest) encode() []byte {
	result := "\x60\x00\x00" // of type 1: no parameters, no result
	if g.wrong {
		result = "\x60\x00\x01\x7f"
	}
	s := "\x00asm\x01\x00\x00\x00" + section(1, vector("\x60"+sized(g.params)+"\x00", result, "\x60\x00\x00"))
	if g.module != "" {
		s += section(2, vector(sized(g.module)+sized(g.name)+"\x00\x00"))
	}
	var types, exports, bodies []string
	add := func(name, code, of string) {
		n := len(types)
		if g.module != "" {
			n++
		}
		types, bodies = append(types, of), append(bodies, sized("\x00"+code+"\x0b"))
		if name != "" {
			exports = append(exports, sized(name)+"\x00"+string(rune(n)))
		}
	}
	if g.module == "" { // a function in the place of the import, so that the numbers are the same
		add("", "", "\x02")
	}
	if g.configure != "" {
		add("configure", g.configure, "\x02")
	}
	if g.pre != "" {
		add("pre_update", g.pre, "\x01")
	}
	s += section(3, vector(types...))
	if g.memory > 0 {
		exports = append(exports, sized("memory")+"\x02\x00")
		s += section(5, "\x01\x00"+string(rune(g.memory)))
	}
	s += section(7, vector(exports...)) + section(10, vector(bodies...))
	if g.data != "" {
		s += section(11, "\x01\x00\x41\x00\x0b"+sized(g.data))
	}
	return []byte(s)
}

func anywhere(string) error { return nil }

// carriedOut makes a world with a system of a module, configures it and takes a step. It returns the error, and whether the state stayed as it was.
func carriedOut(t *testing.T, code []byte, content ...*sdf.Element) (untouched bool, err error) {
	t.Helper()
	dir := t.TempDir()
	if code != nil {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "g.wasm"), code, 0o600))
	}
	p := &sdf.Plugin{Place: sdf.Place{File: filepath.Join(dir, "w.sdf"), Line: 7}, Filename: "g.wasm", Name: "g", Content: content}
	require.True(t, Is(p))
	system, err := New(p, anywhere)
	if err != nil {
		return true, err
	}
	w := &sdf.World{Name: "w", Physics: sdf.Physics{Step: 10 * metasim.Millisecond}}
	s, err := world.New(world.Config{World: w, Slots: []*world.Slot{{Name: "g", Plugin: p, System: system}}})
	require.NoError(t, err)
	before := s.Hash()
	if err = s.Configure(); err == nil {
		before = s.Hash()
		err = s.Step()
	}
	return s.Hash() == before, err
}

func limits(pairs ...string) *sdf.Element {
	e := &sdf.Element{Name: "sandbox"}
	for i := 0; i < len(pairs); i += 2 {
		e.Attributes = append(e.Attributes, sdf.Attribute{Name: pairs[i], Value: pairs[i+1]})
	}
	return e
}

// What a module may not do: each is one sentence, and the state of the world is as it was.
func TestModulesThatFail(t *testing.T) {
	nothing := "\x01" // nop
	root := one64
	for name, c := range map[string]struct {
		code    []byte
		content []*sdf.Element
		want    string
	}{
		"no file":   {nil, nil, "g.wasm: no such file or directory"},
		"no module": {[]byte("#!/bin/sh"), nil, "g.wasm: this is no WebAssembly module that can be run: invalid magic number"},
		"clock": {guest{module: wasi, name: "clock_time_get", pre: nothing}.encode(), nil,
			"g.wasm: it imports clock_time_get of WASI, and a system has no clock, no random numbers and no files; take time and seed from metasim_1, " +
				`or let it have a simulated clock: <sandbox wasi="simulated"/>`},
		"another version": {guest{module: "metasim_2", name: "get", pre: nothing}.encode(), nil, "g.wasm: it was built for metasim_2, and this metasim offers metasim_1; build it for that"},
		"elsewhere":       {guest{module: "env", name: "gettimeofday", pre: nothing}.encode(), nil, "it imports env.gettimeofday, and a system may import functions of metasim_1 alone"},
		"unknown":         {guest{module: offered, name: "now", pre: nothing}.encode(), nil, "it imports metasim_1.now, which is no function of a system; docs/lockstep.md names them"},
		"no phase":        {guest{}.encode(), nil, "it exports no phase; export one of the functions configure, pre_update, update, post_update"},
		"a result":        {guest{pre: one32, wrong: true}.encode(), nil, "its function pre_update has parameters or results; export it without any"},
		"wrong types": {guest{module: offered, name: "fail", params: "\x7e", pre: nothing}.encode(), nil,
			"system g, in Configure: g.wasm has failed: import func[metasim_1.fail]: signature mismatch: i64_v != i32i32_v"},
		"endless": {guest{pre: loopForever}.encode(), []*sdf.Element{limits("time", "0.05")},
			"system g, in PreUpdate of iteration 1: g.wasm has not come back from pre_update after 50ms; if it does not loop for ever, write <sandbox time=\"...\"/>, in seconds"},
		"endless at first": {guest{configure: loopForever}.encode(), []*sdf.Element{limits("time", "0.05")}, "system g, in Configure: g.wasm has not come back from configure after 50ms"},
		"greedy": {guest{memory: 1, pre: growBy}.encode(), nil,
			`system g, in PreUpdate of iteration 1: g.wasm asks for 4096 MiB of memory, and may have 64; write <sandbox memory="..."/>, in MiB, or use less`},
		"greedy and broken": {guest{memory: 1, pre: growBy + unreachable}.encode(), nil, "g.wasm asks for 4096 MiB of memory, and may have 64;"},
		"too much at once":  {guest{memory: 100, pre: nothing}.encode(), []*sdf.Element{limits("memory", "1")}, "system g, in Configure: g.wasm asks for 7 MiB of memory, and may have 1;"},
		"fails":             {guest{module: offered, name: "fail", params: "\x7f\x7f", memory: 1, data: "no\twind", pre: "\x41\x00\x41\x07" + callImport}.encode(), nil, "PreUpdate of iteration 1: g.wasm says: no\twind"},
		"fails at length":   {guest{module: offered, name: "fail", params: "\x7f\x7f", memory: 1, data: "no wind", pre: "\x41\x00\x41\x80\x80\x04" + callImport}.encode(), nil, "PreUpdate of iteration 1: g.wasm says: no wind"},
		"a long name": {guest{module: offered, name: "set", params: "\x7e\x7f\x7f\x7f\x7f\x7f", memory: 1, pre: "\x42\x09" + "\x41\x00\x41\x80\x10" + one32 + one32 + one32 + callImport}.encode(), nil,
			"g.wasm calls set with a name of 2048 bytes; at most 1024 are possible"},
		"a long import": {guest{module: strings.Repeat("m", 5000), name: "f", pre: nothing}.encode(), nil, "g.wasm: it imports mmm"},
		"unreachable":   {guest{pre: unreachable}.encode(), nil, "system g, in PreUpdate of iteration 1: g.wasm has failed: unreachable"},
		"recursion":     {guest{configure: recurse}.encode(), nil, "system g, in Configure: g.wasm has failed: stack overflow"},
		"out of memory": {guest{module: offered, name: "fail", params: "\x7f\x7f", memory: 1, pre: "\x41\x7f" + one32 + callImport}.encode(), nil, "g.wasm calls fail with 1 bytes at 4294967295, which it does not have"},
		"no memory":     {guest{module: offered, name: "fail", params: "\x7f\x7f", pre: one32 + one32 + callImport}.encode(), nil, "g.wasm calls fail and exports no memory; export it as memory"},
		"writes for ever": {guest{module: offered, name: "set", params: "\x7e\x7f\x7f\x7f\x7f\x7f", memory: 1, pre: "\x03\x40" + root + one32 + one32 + one32 + one32 + one32 + callImport + "\x0c\x00\x0b"}.encode(),
			[]*sdf.Element{limits("memory", "1")}, `writes more than 1 MiB in one phase; write less, or allow more: <sandbox memory="..."/>`},
		"kind": {guest{module: offered, name: "set", params: "\x7e\x7f\x7f\x7f\x7f\x7f", memory: 1, pre: root + one32 + one32 + one32 + one32 + "\x41\x09" + callImport}.encode(), nil,
			"g.wasm calls set with the kind 9; write 1 for periodic or 2 for one-time"},
		"no number": {guest{module: offered, name: "set", params: "\x7e\x7f\x7f\x7f\x7f\x7f", memory: 1, data: "gravity" + "\x00\x00\x00\x00\x00\x00\xf8\x7f",
			pre: root + "\x41\x00\x41\x07" + "\x41\x07\x41\x18" + one32 + callImport}.encode(), nil, "it sets gravity of entity 1: number 1 is NaN"},
		"its memory":  {guest{pre: nothing}.encode(), []*sdf.Element{limits("memory", "much")}, `<sandbox memory="much">; write MiB, from 1 to 4096`},
		"its time":    {guest{pre: nothing}.encode(), []*sdf.Element{limits("time", "0")}, `<sandbox time="0">; write seconds of real time, from 0.001 to 1000000`},
		"its sandbox": {guest{pre: nothing}.encode(), []*sdf.Element{limits("files", "yes")}, `<sandbox files="yes">; write memory="64", time="10" or wasi="simulated"`},
	} {
		untouched, err := carriedOut(t, c.code, c.content...)
		require.Error(t, err, name)
		assert.Contains(t, err.Error(), c.want, name)
		assert.NotContains(t, err.Error(), "\n", name)
		assert.Less(t, len(err.Error()), 2000, "%s: whatever the module has in its memory", name)
		assert.True(t, untouched, name)
	}
}

// Why a module has ended is what it wrote in this call, and its beginning: it may have written in earlier ones, and as much as it likes.
func TestWhyAModuleEnded(t *testing.T) {
	s := &System{file: "g.wasm", sandbox: sandbox{time: time.Hour}}
	told := func(text string, err error) error {
		return s.within(world.Update, world.Info{}, nil, func(context.Context) error {
			for range 1000 {
				n, err := io.WriteString(&s.stderr, text)
				require.NoError(t, err)
				require.Equal(t, len(text), n)
			}
			return err
		})
	}
	require.NoError(t, told("all is well\n", nil))
	assert.EqualError(t, told("", sys.NewExitError(2)), "g.wasm has ended with status 2, and a system does not end: it wrote nothing")
	assert.EqualError(t, told("panic: no wind\nbelow", sys.NewExitError(2)), "g.wasm has ended with status 2, and a system does not end: panic: no wind")
	assert.Less(t, len(told(strings.Repeat("x", 1<<20), sys.NewExitError(2)).Error()), 2000)
	assert.Less(t, cap(s.stderr), 1<<20)
}

// A module that stays within its limits changes the state.
func TestModuleWrites(t *testing.T) {
	untouched, err := carriedOut(t, guest{module: offered, name: "set", params: "\x7e\x7f\x7f\x7f\x7f\x7f", memory: 1, data: "note",
		pre: one64 + "\x41\x00\x41\x04" + "\x41\x00\x41\x02" + "\x41\x02" + callImport}.encode(), limits("memory", "1", "time", "1000"))
	require.NoError(t, err)
	require.False(t, untouched)
}

// A system that is configured again knows nothing of what it did before, and is the module that was read, whatever became of its file.
func TestAModuleBeginsAgain(t *testing.T) {
	count := "\x41\x08" + "\x41\x08\x2d\x00\x00" + one32 + "\x6a" + "\x3a\x00\x00" // the byte at 8 grows by one
	file := filepath.Join(t.TempDir(), "g.wasm")
	require.NoError(t, os.WriteFile(file, guest{module: offered, name: "set", params: "\x7e\x7f\x7f\x7f\x7f\x7f", memory: 1, data: "note",
		pre: count + one64 + "\x41\x00\x41\x04" + "\x41\x08" + one32 + one32 + callImport}.encode(), 0o600))
	p := &sdf.Plugin{Filename: file, Content: []*sdf.Element{limits("wasi", "simulated")}}
	s, err := New(p, anywhere)
	require.NoError(t, err)
	require.NoError(t, os.Remove(file))
	for range 3 {
		v := ecm.NewStore(world.Schema()).View(0)
		v.Create(0)
		require.NoError(t, s.Configure(world.Setup{Plugin: p}, v))
		for i := range 3 {
			require.NoError(t, s.PreUpdate(world.Info{Iteration: uint64(i)}, v))
			note, _ := v.Get(world.Root, "note")
			require.Equal(t, []byte{byte(i + 1)}, note)
		}
	}
}

// fakeMemory is memory without a module.
type fakeMemory struct {
	api.Memory
	bytes []byte
}

func (m fakeMemory) Size() uint32 { return uint32(len(m.bytes)) }
func (m fakeMemory) Read(at, n uint32) ([]byte, bool) {
	if uint64(at)+uint64(n) > uint64(len(m.bytes)) {
		return nil, false
	}
	return m.bytes[at : at+n], true
}

// What a module reads of a world: every function that reads, called as a module calls it.
func TestWhatModulesRead(t *testing.T) {
	store := ecm.NewStore(world.Schema())
	v := store.View(0)
	for range 3 {
		v.Set(v.Create(0), "note", []byte("text"), ecm.OneTime)
	}
	s := &System{view: v, info: world.Info{Iteration: 5, Time: 50, Step: 10}, setup: world.Setup{Seed: 9, Plugin: &sdf.Plugin{Content: []*sdf.Element{{Name: "note", Text: "hello"}}}}}
	m := fakeMemory{bytes: make([]byte, 64)}
	copy(m.bytes, "notenone")
	call := func(name string, stack ...uint64) int64 {
		for _, f := range functions {
			if f.name == name {
				return int64(f.call(s, arguments{name, m, stack}))
			}
		}
		panic(name)
	}
	assert.EqualValues(t, 5, call("iteration"))
	assert.EqualValues(t, 50, call("time"))
	assert.EqualValues(t, 10, call("step"))
	assert.EqualValues(t, 9, call("seed"))
	assert.EqualValues(t, 5, call("parameter", 0, 4, 16, 3), "how long it is, of which three bytes have room")
	assert.Equal(t, "hel\x00", string(m.bytes[16:20]))
	assert.EqualValues(t, -1, call("parameter", 4, 4, 16, 3))
	assert.EqualValues(t, 3, call("with", 0, 4, 16, 2), "how many there are, of which two have room")
	assert.Equal(t, []byte{1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0}, m.bytes[16:34])
	assert.EqualValues(t, 0, call("with", 4, 4, 16, 0))
	assert.EqualValues(t, 4, call("get", 3, 0, 4, 32, 32))
	assert.Equal(t, "text", string(m.bytes[32:36]))
	assert.EqualValues(t, -1, call("get", 3, 4, 4, 32, 32))
	assert.EqualValues(t, -1, call("get", 9, 0, 4, 32, 32))
	assert.EqualValues(t, 0, call("parent", 3))
	s.sandbox.memory = 1 << 20
	made := call("create", 1)
	assert.EqualValues(t, 4, made)
	assert.EqualValues(t, 1, call("parent", uint64(made)))
	call("remove", 3)
	assert.EqualValues(t, 2, call("with", 0, 4, 16, 2))
	call("unset", 1, 0, 4)
	assert.EqualValues(t, 1, call("with", 0, 4, 16, 2))
	require.NoError(t, v.Err())
}
