package tree_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/federates/authority/tree"
)

// BenchmarkApply changes one of 100,000 entities of one folder, which a trigger and a projection look at.
func BenchmarkApply(b *testing.B) {
	x, err := tree.New(tree.Limits{}, nil)
	require.NoError(b, err)
	owners := tree.Pattern{tree.Is("entities"), tree.NameMatches(""), tree.Is("owner")}
	for _, c := range []tree.Command{
		tree.Project(tree.Projection{Name: "owners", Filter: owners, Function: "copy"}), tree.PutProcedure("/p", "tell"),
		tree.Register(tree.Trigger{ID: "tell", Filter: owners, Procedure: "/p"}),
	} {
		_, err := x.Apply(c)
		require.NoError(b, err)
	}
	put := func(i int, data string) {
		_, err := x.Apply(tree.Put(tree.At("entities", strconv.Itoa(i%100_000), "owner"), []byte(data)))
		require.NoError(b, err)
	}
	for i := range 100_000 {
		put(i, "north")
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		put(i*7919, strconv.Itoa(i))
	}
}
