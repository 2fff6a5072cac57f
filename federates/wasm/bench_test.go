package wasm

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/federates/ecm"
	"metasim/federates/sdf"
	"metasim/federates/world"
)

// What it costs to call a module that sets one component.
func BenchmarkCall(b *testing.B) {
	dir := b.TempDir()
	code := guest{module: offered, name: "set", params: "\x7e\x7f\x7f\x7f\x7f\x7f", memory: 1, data: "note",
		pre: one64 + "\x41\x00\x41\x04" + "\x41\x00\x41\x02" + "\x41\x02" + callImport}.encode()
	require.NoError(b, os.WriteFile(filepath.Join(dir, "g.wasm"), code, 0o600))
	p := &sdf.Plugin{Place: sdf.Place{File: filepath.Join(dir, "w.sdf")}, Filename: "g.wasm", Name: "g"}
	s, err := New(p, anywhere)
	require.NoError(b, err)
	store := ecm.NewStore(world.Schema())
	first := store.View(0)
	first.Create(0)
	_, err = store.Merge([]ecm.Writer{{Written: ecm.Written{Changes: first.Changes()}}})
	require.NoError(b, err)
	require.NoError(b, s.Configure(world.Setup{Plugin: p}, store.View(1)))
	b.ReportAllocs()
	for b.Loop() {
		if err := s.PreUpdate(world.Info{Iteration: 1}, store.View(1)); err != nil {
			b.Fatal(err)
		}
	}
}
