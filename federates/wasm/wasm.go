// Package wasm runs a system of a world that is a WebAssembly module, in a sandbox: it sees the state of the world and its own parameters, and
// nothing else. It has no clock, no random numbers and no files, and a limit of memory and of time.
//
// A module exports the phases in which it takes part (configure, pre_update, update, post_update) and imports what it needs from the module
// metasim_1, whose functions are the table of host.go. docs/lockstep.md documents them.
//
// Neither limit changes a result: a system that reaches one fails, and the run with it.
package wasm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"

	"metasim/federates/ecm"
	"metasim/federates/sdf"
	"metasim/federates/world"
)

// maxModule bounds the file of a module.
const maxModule = 64 << 20

// exports are the names of the phases, by phase.
var exports = [...]string{world.Configure: "configure", world.PreUpdate: "pre_update", world.Update: "update", world.PostUpdate: "post_update"}

// A System is a module that runs. It has the interfaces of package world for all phases; Phases says in which it takes part.
type System struct {
	file     string // as it is named
	sum      [sha256.Size]byte
	sandbox  sandbox
	runtime  wazero.Runtime
	compiled wazero.CompiledModule
	instance api.Module                 // nil: Configure has made none yet
	calls    [len(exports)]api.Function // of the instance, by phase: each keeps its stack from call to call
	memory   memory
	stderr   beginning // of a guest that was built for WASI, in the present call: why it ended
	phases   uint8

	// Of the present call:
	view    *ecm.View
	info    world.Info
	setup   world.Setup
	written int   // bytes that it wrote to the state
	err     error // what it did wrong
}

// Is reports whether a plugin is a module.
func Is(p *sdf.Plugin) bool { return strings.HasSuffix(p.Filename, ".wasm") }

// New reads the module that a plugin names: a path, seen from the file in which the plugin stands. May says why that file may not be read.
func New(p *sdf.Plugin, may func(path string) error) (*System, error) {
	file := p.Filename
	if !filepath.IsAbs(file) {
		file = filepath.Join(filepath.Dir(p.Place.File), file)
	}
	if err := may(file); err != nil {
		return nil, err
	}
	s := &System{file: p.Filename}
	err := s.sandbox.read(p)
	if err == nil {
		err = s.compile(file)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Filename, err)
	}
	return s, nil
}

// compile reads and compiles the module, and checks what it imports and exports.
func (s *System) compile(file string) error {
	code, err := readModule(file)
	if err != nil {
		return err
	}
	s.sum = sha256.Sum256(code)
	ctx := context.Background()
	s.runtime = wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig().WithCloseOnContextDone(true))
	if s.compiled, err = s.runtime.CompileModule(ctx, code); err != nil {
		return fmt.Errorf("this is no WebAssembly module that can be run: %s", firstLine(err.Error()))
	}
	for _, f := range s.compiled.ImportedFunctions() {
		module, name, _ := f.Import()
		if err := s.sandbox.allows(module, name); err != nil {
			return errors.New(firstLine(err.Error())) // a name may be as long as the file
		}
	}
	for p, name := range exports {
		f := s.compiled.ExportedFunctions()[name]
		if f == nil {
			continue
		}
		if len(f.ParamTypes())+len(f.ResultTypes()) > 0 {
			return fmt.Errorf("its function %s has parameters or results; export it without any", name)
		}
		s.phases |= 1 << p
	}
	if s.phases == 0 {
		return fmt.Errorf("it exports no phase; export one of the functions %s", strings.Join(exports[:], ", "))
	}
	s.phases |= 1 << world.Configure // the module begins there
	return nil
}

func readModule(file string) ([]byte, error) {
	about, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, errors.Unwrap(err) // the path is named already
	case !about.Mode().IsRegular():
		return nil, errors.New("this is no ordinary file")
	case about.Size() > maxModule:
		return nil, fmt.Errorf("the module has %d bytes; at most %d can be read", about.Size(), maxModule)
	}
	return os.ReadFile(file)
}

// Sum returns the SHA-256 of the module, as it was read.
func (s *System) Sum() [sha256.Size]byte { return s.sum }

// Phases returns the phases in which it takes part, as bits.
func (s *System) Phases() uint8 { return s.phases }

// Configure makes an instance of the module, as it was read; of a system that was configured before, another one, which knows nothing of the one before.
func (s *System) Configure(setup world.Setup, v *ecm.View) error {
	s.setup = setup
	return s.within(world.Configure, world.Info{}, v, func(ctx context.Context) error {
		if err := s.instantiate(ctx); err != nil {
			return err
		}
		if f := s.calls[world.Configure]; f != nil {
			_, err := f.Call(ctx)
			return err
		}
		return nil
	})
}

func (s *System) PreUpdate(i world.Info, v *ecm.View) error  { return s.call(world.PreUpdate, i, v) }
func (s *System) Update(i world.Info, v *ecm.View) error     { return s.call(world.Update, i, v) }
func (s *System) PostUpdate(i world.Info, v *ecm.View) error { return s.call(world.PostUpdate, i, v) }

func (s *System) call(p world.Phase, i world.Info, v *ecm.View) error {
	return s.within(p, i, v, func(ctx context.Context) error {
		_, err := s.calls[p].Call(ctx)
		return err
	})
}

// within runs f for one phase, within the limits of the sandbox. The limit of time is real time, so it only ever ends a run.
func (s *System) within(p world.Phase, i world.Info, v *ecm.View, f func(context.Context) error) error {
	s.view, s.info, s.written, s.err = v, i, 0, nil
	s.stderr = s.stderr[:0]
	defer func() { s.view = nil }()
	ctx, cancel := context.WithTimeout(context.Background(), s.sandbox.time)
	defer cancel()
	err := f(ctx)
	var exit *sys.ExitError
	switch {
	case s.memory.refused > 0:
		s.err = fmt.Errorf("asks for %d MiB of memory, and may have %d; write <sandbox memory=\"...\"/>, in MiB, or use less", mib(s.memory.refused), mib(s.memory.most))
	case s.err != nil || err == nil:
	case errors.As(err, &exit) && exit.ExitCode() == sys.ExitCodeDeadlineExceeded:
		s.err = fmt.Errorf("has not come back from %s after %v; if it does not loop for ever, write <sandbox time=\"...\"/>, in seconds", exports[p], s.sandbox.time)
	case errors.As(err, &exit):
		s.err = fmt.Errorf("has ended with status %d, and a system does not end: %s", exit.ExitCode(), firstLine(cmp.Or(string(s.stderr), "it wrote nothing")))
	default:
		s.err = fmt.Errorf("has failed: %s", strings.TrimPrefix(firstLine(err.Error()), "wasm error: "))
	}
	if s.err != nil {
		return fmt.Errorf("%s %w", s.file, s.err)
	}
	return nil
}

// instantiate makes the instance, with what it imports.
func (s *System) instantiate(ctx context.Context) (err error) {
	if s.instance != nil {
		if err := s.instance.Close(ctx); err != nil {
			return err
		}
	}
	s.memory = memory{most: s.sandbox.memory}
	defer func() {
		if s.memory.refused > 0 { // the library panics where an instance does not get its memory
			recover()
			err = errors.New("there is no memory for it")
		}
	}()
	ctx = experimental.WithMemoryAllocator(ctx, &s.memory)
	if s.instance == nil {
		if err := s.offer(ctx); err != nil {
			return err
		}
	}
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions("_initialize")
	if s.sandbox.wasi {
		key := sha256.Sum256(binary.LittleEndian.AppendUint64([]byte("metasim wasi "), s.setup.Seed))
		config = config.WithStderr(&s.stderr).WithRandSource(rand.NewChaCha8(key)).
			WithNanotime(func() int64 { return int64(s.info.Time) + 1 }, 1). // Go takes 0 for a broken clock
			WithWalltime(func() (int64, int32) { return int64(s.info.Time) / 1e9, int32(int64(s.info.Time) % 1e9) }, 1)
	}
	if s.instance, err = s.runtime.InstantiateModule(ctx, s.compiled, config); err != nil {
		return err
	}
	for p, name := range exports {
		s.calls[p] = s.instance.ExportedFunction(name)
	}
	return nil
}
