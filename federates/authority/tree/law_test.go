package tree_test

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/federates/authority/tree"
)

// A twin is the tree as a map of paths, and each rule as it is said.
type twin map[string]twinNode

type twinNode struct {
	data             string
	has              bool
	payload, childre uint64
	keep             []string // paths that must be there
}

func parent(path string) string { return path[:max(1, strings.LastIndexByte(path, '/'))] }

func (w twin) put(path, data string, keep []string) {
	if n, there := w[path]; there {
		if !n.has || n.data != data {
			n.data, n.has, n.payload = data, true, n.payload+1
		}
		if keep != nil {
			n.keep = keep
		}
		w[path] = n
		return
	}
	w.grow(path)
	w[path] = twinNode{data: data, has: true, payload: 1, childre: 1, keep: keep}
}

func (w twin) grow(path string) {
	if _, there := w[path]; there {
		return
	}
	w.grow(parent(path))
	up := w[parent(path)]
	up.childre++
	w[parent(path)] = up
	w[path] = twinNode{payload: 1, childre: 1}
}

func (w twin) delete(path string) {
	if _, there := w[path]; !there {
		return
	}
	for p := range w {
		if p == path || strings.HasPrefix(p, path+"/") {
			delete(w, p)
		}
	}
	up := w[parent(path)]
	up.childre++
	w[parent(path)] = up
	for again := true; again; {
		again = false
		for p, n := range w {
			if slices.ContainsFunc(n.keep, func(k string) bool { _, there := w[k]; return !there }) {
				w.delete(p)
				again = true
				break
			}
		}
	}
}

// cycle reports whether a node that goes with others would take itself along.
func (w twin) cycle(path string, keep []string) bool {
	var reach func(from string, seen map[string]bool) bool
	reach = func(from string, seen map[string]bool) bool {
		for at := from; at != "/"; at = parent(at) {
			if at == path {
				return true
			}
			if !seen[at] {
				seen[at] = true
				for _, k := range w[at].keep {
					if reach(k, seen) {
						return true
					}
				}
			}
		}
		return false
	}
	for _, k := range keep {
		// What is watched may itself be below the node: that goes with it, and is no cycle unless something above or at it watches.
		seen := map[string]bool{path: true}
		for at := k; at != "/"; at = parent(at) {
			if at == path {
				break
			}
			seen[at] = true
			for _, next := range w[at].keep {
				if next != at && reach(next, maps.Clone(seen)) {
					return true
				}
			}
		}
	}
	return false
}

func (w twin) lines() (out []string) {
	for p, n := range w {
		length := 0
		for q := range w {
			if q != "/" && parent(q) == p {
				length++
			}
		}
		out = append(out, fmt.Sprint(p, " ", n.data, n.has, n.payload, n.childre, length))
	}
	slices.Sort(out)
	return out
}

func lines(t require.TestingT, x *tree.Tree) (out []string) {
	require.NoError(t, x.Query(func(q *tree.Tx) error {
		all, err := q.Select(tree.Pattern{tree.PathMatches("")})
		root, _ := q.Get("/")
		for _, n := range append(all, root) {
			out = append(out, fmt.Sprint(n.Path, " ", string(n.Payload.Bytes), n.Payload.Kind == tree.Data, n.PayloadVersion, n.ChildListVersion, n.ChildListLength))
		}
		return err
	}))
	slices.Sort(out)
	return out
}

var (
	names    = rapid.SampledFrom([]string{"a", "b", "c"})
	anyPath  = rapid.Map(rapid.SliceOfN(names, 1, 3), func(n []string) string { return "/" + strings.Join(n, "/") })
	anyValue = rapid.SampledFrom([]string{"1", "2"})
)

// A tree is its twin after any commands; it is the same after its log, and after a snapshot; projections are what they would be made anew; Try and a command
// that is refused change nothing.
func TestTreeIsItsTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, err := tree.New(tree.Limits{}, nil)
		require.NoError(t, err)
		w := twin{"/": {payload: 1, childre: 1}}
		filter := tree.Pattern{tree.PathMatches(""), tree.All(tree.NameMatches("[ab]"), tree.DataMatches("1"))}
		log := []tree.Command{tree.Project(tree.Projection{Name: "p", Filter: filter, Function: "copy"})}
		_, err = x.Apply(log[0])
		require.NoError(t, err)
		for range rapid.IntRange(1, 30).Draw(t, "commands") {
			path := anyPath.Draw(t, "path")
			c := tree.Delete(tree.Path(path))
			if rapid.IntRange(0, 3).Draw(t, "kind") > 0 {
				value := anyValue.Draw(t, "value")
				c = tree.Put(tree.Path(path), []byte(value))
				var keep []string
				if rapid.IntRange(0, 3).Draw(t, "keeps") == 0 {
					k := anyPath.Draw(t, "keep")
					keep = []string{k}
					c = c.Kept(tree.Keep{Path: k, If: tree.NodeExists(true)})
				}
				kept := len(keep) == 0 || keep[0] == path
				if !kept {
					grown := maps.Clone(w)
					grown.grow(path)
					_, kept = grown[keep[0]]
				}
				before, errBefore := x.Snapshot()
				_, errTry := x.Try(c)
				after, errAfter := x.Snapshot()
				require.NoError(t, errBefore)
				require.NoError(t, errAfter)
				require.Equal(t, string(before), string(after))
				switch {
				case !kept:
					require.ErrorIs(t, errTry, tree.ErrKeepWhile)
					continue
				case w.cycle(path, keep):
					require.ErrorIs(t, errTry, tree.ErrKeepCycle)
					continue
				}
				require.NoError(t, errTry)
				w.put(path, value, keep)
			} else {
				w.delete(path)
			}
			text, err := c.Encode()
			require.NoError(t, err)
			c, err = tree.Decode(text)
			require.NoError(t, err)
			_, err = x.Apply(c)
			require.NoError(t, err)
			log = append(log, c)
			require.Equal(t, w.lines(), lines(t, x))
		}
		sameAgain(t, x, log)
	})
}

// sameAgain checks that a tree is what its log makes, and what its snapshot makes.
func sameAgain(t *rapid.T, x *tree.Tree, log []tree.Command) {
	again, err := tree.New(tree.Limits{}, nil)
	require.NoError(t, err)
	for _, c := range log {
		_, err := again.Apply(c)
		require.NoError(t, err)
	}
	first, err := x.Snapshot()
	require.NoError(t, err)
	second, err := again.Snapshot()
	require.NoError(t, err)
	require.Equal(t, string(first), string(second))
	back, err := tree.Restore(first, tree.Limits{}, nil)
	require.NoError(t, err)
	third, err := back.Snapshot()
	require.NoError(t, err)
	require.Equal(t, string(first), string(third))
	rows, err := x.Rows("p")
	require.NoError(t, err)
	made, err := back.Rows("p")
	require.NoError(t, err)
	require.Equal(t, append([]tree.Row{}, made...), append([]tree.Row{}, rows...))
	// What kept nodes keeps them after a snapshot too.
	for _, name := range []tree.Path{"/a", "/b"} {
		_, err1 := x.Apply(tree.Delete(name))
		_, err2 := back.Apply(tree.Delete(name))
		require.NoError(t, err1)
		require.NoError(t, err2)
	}
	require.Equal(t, lines(t, x), lines(t, back))
}

// A pattern of stars matches what a comparison of texts says.
func TestPatternsAreTheirTwin(t *testing.T) {
	var match func(p, n []string) bool
	match = func(p, n []string) bool {
		switch {
		case len(p) == 0 || len(n) == 0:
			return len(p) == len(n)
		case p[0] == "**":
			return match(p[1:], n[1:]) || match(p, n[1:])
		}
		return (p[0] == "*" || p[0] == n[0]) && match(p[1:], n[1:])
	}
	rapid.Check(t, func(t *rapid.T) {
		x, err := tree.New(tree.Limits{}, nil)
		require.NoError(t, err)
		all := map[string]bool{}
		part := rapid.SampledFrom([]string{"a", "b", "*", "**"})
		parts := rapid.SliceOfN(part, 1, 4).Draw(t, "pattern")
		p, err := tree.ParsePattern("/" + strings.Join(parts, "/"))
		require.NoError(t, err)
		_, err = x.Apply(tree.Register(tree.Trigger{ID: "t", Filter: p, Procedure: "/p", On: []tree.Action{tree.Created}}))
		require.NoError(t, err)
		fired := 0
		for range rapid.IntRange(1, 8).Draw(t, "nodes") {
			path := anyPath.Draw(t, "path")
			r, err := x.Apply(tree.Put(tree.Path(path), nil))
			require.NoError(t, err)
			fired += len(r.Fired)
			for ; path != "/"; path = parent(path) {
				all[path] = true
			}
		}
		var want []string
		for path := range all {
			if match(parts, strings.Split(path[1:], "/")) {
				want = append(want, path)
			}
		}
		slices.Sort(want)
		var got []string
		require.NoError(t, x.Query(func(q *tree.Tx) error {
			nodes, err := q.Select(p)
			for _, n := range nodes {
				got = append(got, string(n.Path))
			}
			return err
		}))
		require.Equal(t, want, got)
		require.Equal(t, len(want), fired, "a trigger matches the same nodes as they come")
	})
}

// Names come back from paths, and each path is written in one way.
func TestPathsOfNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.OneOf(rapid.StringN(1, 60, 80), rapid.Map(rapid.SliceOfN(rapid.Byte(), 1, 80), func(b []byte) string { return string(b) }),
			rapid.StringMatching(`[.:%*/a]{1,6}`)).Draw(t, "name")
		path := tree.At(name)
		require.NoError(t, path.Check())
		require.Equal(t, name, path.Name())
		require.Equal(t, path, tree.At(path.Name()))
	})
}

// Whatever bytes come, they are refused, or are what they say: a command and a snapshot that were read are written as they were, and what a tree takes it can
// give back.
func FuzzRead(f *testing.F) {
	x, err := tree.New(tree.Limits{}, nil)
	require.NoError(f, err)
	for _, c := range []tree.Command{
		tree.Put("/a/b", []byte("1")), tree.Swap("/a", tree.DataMatches(`{"a":["$1"]}`), nil), tree.Put("/c", nil).Kept(tree.Keep{Path: "../a", If: tree.NodeExists(true)}),
		tree.Register(tree.Trigger{ID: "t", Filter: tree.Pattern{tree.PathMatches("x|y")}, Procedure: "/p"}), {Kind: tree.KindOpenSession, Name: "s"},
		{Kind: tree.KindTransaction, Commands: []tree.Command{tree.DeleteMany(tree.Pattern{tree.NameMatches("")})}},
	} {
		text, err := c.Encode()
		require.NoError(f, err)
		f.Add(text)
		_, _ = x.Apply(c) // some are refused
		snapshot, err := x.Snapshot()
		require.NoError(f, err)
		f.Add(snapshot)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if y, err := tree.Restore(text, tree.Limits{}, nil); err == nil {
			once, err := y.Snapshot()
			require.NoError(t, err)
			z, err := tree.Restore(once, tree.Limits{}, nil)
			require.NoError(t, err)
			twice, err := z.Snapshot()
			require.NoError(t, err)
			require.Equal(t, string(once), string(twice))
		}
		c, err := tree.Decode(text)
		if err != nil {
			return
		}
		y, err := tree.New(tree.Limits{}, nil)
		require.NoError(t, err)
		_, err = y.Apply(tree.Put("/a/b", []byte(`{"a":[1,2]}`)))
		require.NoError(t, err)
		before, err := y.Snapshot()
		require.NoError(t, err)
		_, err = y.Apply(c)
		after, wrong := y.Snapshot()
		require.NoError(t, wrong)
		if err != nil {
			require.True(t, bytes.Equal(before, after), "%s\n%s", before, after)
			return
		}
		_, err = tree.Restore(after, tree.Limits{}, nil)
		require.NoError(t, err)
	})
}
