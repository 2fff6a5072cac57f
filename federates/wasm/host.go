package wasm

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"metasim/federates/ecm"
	"metasim/federates/sdf"
)

// offered is the module that guests import. Its number is the version of what is offered: it rises when a function changes.
const offered = "metasim_1"

// wasi is the module that programs built for WASI import, as those in Go are.
const wasi = wasi_snapshot_preview1.ModuleName

// none is what a function returns for something that is not there: -1.
const none = ^uint64(0)

// A function is what a module may import. Text and values are in the memory of the module: where, and how many bytes.
type function struct {
	name    string
	params  []api.ValueType
	results []api.ValueType
	call    func(s *System, a arguments) uint64
}

const (
	i32 = api.ValueTypeI32
	i64 = api.ValueTypeI64
)

var (
	noTypes  = []api.ValueType{}
	number   = []api.ValueType{i64}
	size     = []api.ValueType{i32}
	typeOf   = []api.ValueType{i64, i32, i32}
	textInto = []api.ValueType{i32, i32, i32, i32}
)

// functions are all of them, in the order of docs/lockstep.md.
var functions = []function{
	{"iteration", noTypes, number, func(s *System, _ arguments) uint64 { return s.info.Iteration }},
	{"time", noTypes, number, func(s *System, _ arguments) uint64 { return uint64(s.info.Time) }},
	{"step", noTypes, number, func(s *System, _ arguments) uint64 { return uint64(s.info.Step) }},
	{"seed", noTypes, number, func(s *System, _ arguments) uint64 { return s.setup.Seed }},
	{"parameter", textInto, size, (*System).parameter},
	{"with", textInto, size, (*System).with},
	{"parent", number, number, func(s *System, a arguments) uint64 { return uint64(s.view.Parent(a.entity())) }},
	{"get", []api.ValueType{i64, i32, i32, i32, i32}, size, (*System).get},
	{"set", []api.ValueType{i64, i32, i32, i32, i32, i32}, noTypes, (*System).set},
	{"unset", typeOf, noTypes, func(s *System, a arguments) uint64 {
		s.view.Unset(a.entity(), a.text(1))
		return 0
	}},
	{"create", number, number, func(s *System, a arguments) uint64 {
		s.wrote(0)
		return uint64(s.view.Create(a.entity()))
	}},
	{"remove", number, noTypes, func(s *System, a arguments) uint64 {
		s.view.Remove(a.entity())
		return 0
	}},
	{"fail", []api.ValueType{i32, i32}, noTypes, func(_ *System, a arguments) uint64 {
		panic(misuse{errors.New("says: " + firstLine(string(a.bytes(0))))})
	}},
}

// allows says why a module may not import a function.
func (s *sandbox) allows(module, name string) error {
	switch {
	case module == offered:
		if slices.ContainsFunc(functions, func(f function) bool { return f.name == name }) {
			return nil
		}
		return fmt.Errorf("it imports %s.%s, which is no function of a system; docs/lockstep.md names them", module, name)
	case module == wasi && s.wasi:
		return nil
	case module == wasi:
		return fmt.Errorf("it imports %s of WASI, and a system has no clock, no random numbers and no files; take time and seed from %s, "+
			"or let it have a simulated clock: <sandbox wasi=\"simulated\"/>", name, offered)
	case strings.HasPrefix(module, "metasim_"):
		return fmt.Errorf("it was built for %s, and this metasim offers %s; build it for that", module, offered)
	}
	return fmt.Errorf("it imports %s.%s, and a system may import functions of %s alone", module, name, offered)
}

// offer makes the functions known to the instances that are to be made.
func (s *System) offer(ctx context.Context) error {
	b := s.runtime.NewHostModuleBuilder(offered)
	for _, f := range functions {
		b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(func(_ context.Context, m api.Module, stack []uint64) {
			defer s.remember()
			r := f.call(s, arguments{f.name, m.ExportedMemory("memory"), stack})
			if len(f.results) > 0 {
				stack[0] = r
			}
		}), f.params, f.results).Export(f.name)
	}
	_, err := b.Instantiate(ctx)
	if err == nil && s.sandbox.wasi {
		_, err = wasi_snapshot_preview1.Instantiate(ctx, s.runtime)
	}
	return err
}

// A misuse is what a module did wrong, as the function panics with it that was called.
type misuse struct{ error }

// remember keeps what went wrong in a function, and goes on panicking: that ends the call of the module.
func (s *System) remember() {
	if r := recover(); r != nil {
		if m, is := r.(misuse); is && s.err == nil {
			s.err = m.error
		}
		panic(r)
	}
}

// wrote counts what the module writes, so that it cannot fill the memory of the world with that either.
func (s *System) wrote(n int) {
	const each = 64 // about what an entity or a component takes beside its value
	if s.written += n + each; uint64(s.written) > s.sandbox.memory {
		panic(misuse{fmt.Errorf("writes more than %d MiB in one phase; write less, or allow more: <sandbox memory=\"...\"/>", mib(s.sandbox.memory))})
	}
}

// Arguments are those of one call.
type arguments struct {
	function string
	memory   api.Memory
	stack    []uint64
}

func (a arguments) entity() ecm.Entity { return ecm.Entity(a.stack[0]) }

// bytes returns the memory that the arguments from i on say: where, and how many bytes. It is the module's own.
func (a arguments) bytes(i int) []byte { return a.memoryAt(i, uint64(uint32(a.stack[i+1]))) }

func (a arguments) memoryAt(i int, n uint64) []byte {
	if a.memory == nil {
		panic(misuse{fmt.Errorf("calls %s and exports no memory; export it as memory", a.function)})
	}
	at := uint32(a.stack[i])
	if n <= uint64(a.memory.Size()) {
		if b, ok := a.memory.Read(at, uint32(n)); ok {
			return b
		}
	}
	panic(misuse{fmt.Errorf("calls %s with %d bytes at %d, which it does not have", a.function, n, at)})
}

// text returns a name. No component has one that is longer, and an error that names it stays short.
func (a arguments) text(i int) string {
	b := a.bytes(i)
	if len(b) > maxText {
		panic(misuse{fmt.Errorf("calls %s with a name of %d bytes; at most %d are possible", a.function, len(b), maxText)})
	}
	return string(b)
}

// parameter returns the text of a parameter of the plugin.
func (s *System) parameter(a arguments) uint64 {
	e := sdf.Find(s.setup.Plugin.Content, a.text(0))
	if e == nil {
		return none
	}
	copy(a.bytes(2), e.Text)
	return uint64(len(e.Text))
}

// with writes the entities that have a component, as many as there is room for, and returns how many there are.
func (s *System) with(a arguments) uint64 {
	into := a.memoryAt(2, 8*uint64(uint32(a.stack[3])))
	var n uint64
	for e := range s.view.With(a.text(0)) {
		if n++; len(into) > 0 {
			binary.LittleEndian.PutUint64(into, uint64(e))
			into = into[8:]
		}
	}
	return n
}

// get writes the value of a component, as far as there is room for it, and returns how long it is.
func (s *System) get(a arguments) uint64 {
	value, found := s.view.Get(a.entity(), a.text(1))
	if !found {
		return none
	}
	copy(a.bytes(3), value)
	return uint64(len(value))
}

func (s *System) set(a arguments) uint64 {
	kind := ecm.Kind(a.stack[5])
	if kind != ecm.Periodic && kind != ecm.OneTime {
		panic(misuse{fmt.Errorf("calls set with the kind %d; write 1 for periodic or 2 for one-time", uint32(a.stack[5]))})
	}
	value := a.bytes(3)
	s.wrote(len(value))
	s.view.Set(a.entity(), a.text(1), slices.Clone(value), kind)
	return 0
}
