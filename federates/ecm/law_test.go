package ecm

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A twin is the state as plain maps: what the store must be, without versions, views or merging.
type twin struct {
	parents map[Entity]Entity
	values  map[Entity]map[string]string
	next    map[uint32]uint32
}

func (w *twin) remove(e Entity) {
	delete(w.parents, e)
	delete(w.values, e)
	for _, other := range slices.Sorted(maps.Keys(w.parents)) {
		if w.parents[other] == e {
			w.remove(other)
		}
	}
}

// text is the whole state, readable.
func (w *twin) text() string {
	var b bytes.Buffer
	for _, e := range slices.Sorted(maps.Keys(w.parents)) {
		fmt.Fprintf(&b, "%v<%v", e, w.parents[e])
		for _, name := range slices.Sorted(maps.Keys(w.values[e])) {
			fmt.Fprintf(&b, " %s=%x", name, w.values[e][name])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func textOf(s *Store) string {
	var b bytes.Buffer
	v := s.ReadOnly()
	for e := range v.All() {
		fmt.Fprintf(&b, "%v<%v", e, v.Parent(e))
		for _, name := range []string{"a", "b", "c"} {
			if value, found := v.Get(e, name); found {
				fmt.Fprintf(&b, " %s=%x", name, value)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// act does something through a view, and to the twin.
func (w *twin) act(t *rapid.T, v *View, writer uint32) {
	var any Entity
	if len(w.parents) > 0 {
		any = rapid.SampledFrom(slices.Sorted(maps.Keys(w.parents))).Draw(t, "entity")
	}
	name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "type")
	switch what := rapid.IntRange(0, 10).Draw(t, "what"); {
	case what < 2 || any == 0:
		e := v.Create(any)
		w.next[writer]++
		require.Equal(t, entityOf(writer, w.next[writer]), e)
		w.parents[e], w.values[e] = any, map[string]string{}
	case what == 2:
		v.Remove(any)
		w.remove(any)
	case what == 3:
		v.Unset(any, name)
		delete(w.values[any], name)
	case what == 4:
		w.hand(t, v)
	default:
		value := rapid.SliceOfN(rapid.Byte(), 0, 2).Draw(t, "value")
		v.Set(any, name, value, rapid.SampledFrom([]Kind{Periodic, OneTime}).Draw(t, "kind"))
		w.values[any][name] = string(value)
	}
	for e := range w.parents { // a view shows what it wrote at once
		for _, name := range []string{"a", "b", "c"} {
			got, found := v.Get(e, name)
			want, there := w.values[e][name]
			require.Equal(t, there, found)
			require.Equal(t, want, string(got))
		}
	}
}

// hand hands over what another system wrote in the same state, which stands in the place of what was written.
func (w *twin) hand(t *rapid.T, v *View) {
	other := v.store.View(0)
	for _, e := range v.store.order {
		if rapid.Bool().Draw(t, "hands") {
			other.Set(e.number, rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "type"), []byte{9}, OneTime)
		}
	}
	c := other.Changes()
	for i := range c.Edits {
		e := c.Edits[i].Entity
		if _, there := w.parents[e]; !there {
			continue
		}
		w.values[e] = map[string]string{}
		for _, name := range []string{"a", "b", "c"} {
			if value, found := other.Get(e, name); found {
				w.values[e][name] = string(value)
			}
		}
	}
	v.Write(c.Edits)
}

// The laws: the store is as its twin; what changed since any version, encoded and decoded, makes that version into this one, byte
// for byte; the whole state makes it of nothing.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, w := NewStore(nil), &twin{map[Entity]Entity{}, map[Entity]map[string]string{}, map[uint32]uint32{}}
		copies := []*Store{NewStore(nil)} // each at an earlier state
		versions := []uint64{0}
		for range rapid.IntRange(1, 8).Draw(t, "merges") {
			writer := rapid.SampledFrom([]uint32{0, 1, 300}).Draw(t, "writer")
			v := s.View(writer)
			for range rapid.IntRange(0, 6).Draw(t, "acts") {
				w.act(t, v, writer)
			}
			require.NoError(t, v.Err())
			c := v.Changes()
			decoded, err := Decode(c.Append(nil))
			require.NoError(t, err)
			_, err = s.Merge([]Writer{{Written{"w", decoded}, writer}})
			require.NoError(t, err)
			// A removed entity takes its number with it, and the twin knows only what the store was told.
			w.next[writer] = s.counter(writer)
			require.Equal(t, w.text(), textOf(s))
			if rapid.Bool().Draw(t, "keep") {
				full := s.Full()
				old := NewStore(nil)
				require.NoError(t, old.Apply(full))
				require.Equal(t, s.Hash(), old.Hash())
				copies, versions = append(copies, old), append(versions, s.Version())
			}
		}
		want := s.Full()
		s.Forget(slices.Min(versions))
		var memory, read Memory // of all of them
		for i, old := range copies {
			c := s.ReadOnly().Since(versions[i], &memory)
			encoded := c.Append(nil)
			decoded, err := read.Decode(encoded)
			require.NoError(t, err)
			require.Equal(t, encoded, decoded.Append(nil))
			require.NoError(t, old.Apply(decoded))
			full := old.Full()
			require.Equal(t, want.Append(nil), full.Append(nil))
		}
	})
}

// Whatever bytes are taken are the bytes that Append writes, and whatever they say, a state that they do not fit stays.
func FuzzDecode(f *testing.F) {
	s := NewStore(nil)
	v := s.View(0)
	v.Set(v.Create(v.Create(0)), "pose", []byte{1, 2, 3}, OneTime)
	c := v.Changes()
	f.Add(c.Append(nil))
	f.Add([]byte{1, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Decode(b)
		if err != nil {
			require.ErrorAs(t, err, new(*FormatError))
			return
		}
		require.Equal(t, b, c.Append(nil))
		state := NewStore(nil)
		before := state.Hash()
		if state.Apply(c) != nil {
			require.Equal(t, before, state.Hash())
			return
		}
		full := state.Full()
		again, err := Decode(full.Append(nil))
		require.NoError(t, err)
		copied := NewStore(nil)
		require.NoError(t, copied.Apply(again))
		require.Equal(t, state.Hash(), copied.Hash())
	})
}
