package tree_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/federates/authority/tree"
)

func empty(t *testing.T) *tree.Tree {
	t.Helper()
	x, err := tree.New(tree.Limits{}, nil)
	require.NoError(t, err)
	return x
}

func apply(t *testing.T, x *tree.Tree, commands ...tree.Command) (last tree.Result) {
	t.Helper()
	for _, c := range commands {
		var err error
		last, err = x.Apply(c)
		require.NoError(t, err)
	}
	return last
}

// refused checks that a command is refused with an error, and has changed nothing.
func refused(t *testing.T, x *tree.Tree, c tree.Command, as error) {
	t.Helper()
	before, err := x.Snapshot()
	require.NoError(t, err)
	_, err = x.Apply(c)
	require.ErrorIs(t, err, as)
	after, err := x.Snapshot()
	require.NoError(t, err)
	require.Equal(t, string(before), string(after))
}

func pattern(t *testing.T, text string) tree.Pattern {
	t.Helper()
	p, err := tree.ParsePattern(text)
	require.NoError(t, err)
	return p
}

// paths returns what a pattern matches.
func paths(t *testing.T, x *tree.Tree, p tree.Pattern) (out []string) {
	t.Helper()
	require.NoError(t, x.Query(func(q *tree.Tx) error {
		nodes, err := q.Select(p)
		for _, n := range nodes {
			out = append(out, string(n.Path))
		}
		return err
	}))
	return out
}

func get(t *testing.T, x *tree.Tree, path tree.Path) (n tree.Node) {
	t.Helper()
	require.NoError(t, x.Query(func(q *tree.Tx) (err error) {
		n, err = q.Get(path)
		return err
	}))
	return n
}

func stock(t *testing.T) *tree.Tree {
	x := empty(t)
	apply(t, x, tree.Put("/:stock/:wood/oak", []byte("41")), tree.Put("/:stock/:wood/maple", []byte("12")))
	return x
}

// H1 and H2: paths, payloads, versions.
func TestNodesHaveVersions(t *testing.T) {
	x := stock(t)
	require.Equal(t, tree.Node{Path: "/:stock/:wood", PayloadVersion: 1, ChildListVersion: 3, ChildListLength: 2}, get(t, x, "/:stock/:wood"))
	require.Equal(t, tree.Node{Path: "/:stock/:wood/oak", Payload: tree.Payload{Kind: tree.Data, Bytes: []byte("41")}, PayloadVersion: 1, ChildListVersion: 1},
		get(t, x, "/:stock/:wood/oak"))
	apply(t, x, tree.Put("/:stock/:wood/oak", []byte("40")))
	require.Equal(t, uint64(2), get(t, x, "/:stock/:wood/oak").PayloadVersion)
	require.Empty(t, apply(t, x, tree.Put("/:stock/:wood/oak", []byte("40"))).Events, "the same payload is no change")
	require.Equal(t, uint64(2), get(t, x, "/:stock/:wood/oak").PayloadVersion)
	require.NoError(t, x.Query(func(q *tree.Tx) error {
		names, err := q.Children("/:stock/:wood")
		require.Equal(t, []string{"maple", "oak"}, names)
		require.Equal(t, "40", string(q.Data("/:stock/:wood/oak", nil)))
		require.Equal(t, "none", string(q.Data("/:stock/:wood/elm", []byte("none"))))
		require.Equal(t, "none", string(q.Data("/:stock", []byte("none"))))
		_, missing := q.Get("/stock")
		require.ErrorIs(t, missing, tree.ErrNotFound, "another name than :stock")
		return err
	}))
	require.Equal(t, tree.Path("/a%2Fb/%2E%2E/%3Ax/%2A%25%00"), tree.At("a/b", "..", ":x", "*%\x00"))
	require.Equal(t, "*%\x00", tree.At("*%\x00").Name())
	require.NoError(t, tree.At("a/b", "..", ":x", "*%\x00", "ä").Check())
}

// H3: create, update, compare and swap, delete, and their many.
func TestWaysToWrite(t *testing.T) {
	x := stock(t)
	refused(t, x, tree.Create("/:stock/:wood/oak", nil), tree.ErrExists)
	refused(t, x, tree.Update("/:stock/:wood/elm", nil), tree.ErrNotFound)
	apply(t, x, tree.Create("/:stock/:wood/elm", []byte("5")), tree.Update("/:stock/:wood/elm", []byte("6")))
	refused(t, x, tree.Swap("/:stock/:wood/elm", tree.DataMatches("5"), []byte("7")), tree.ErrMismatch)
	refused(t, x, tree.Swap("/:stock/:wood/elm", tree.PayloadVersion(tree.Equal, 1), []byte("7")), tree.ErrMismatch)
	refused(t, x, tree.Swap("/:stock/:wood/ash", tree.PayloadVersion(tree.Equal, 1), []byte("7")), tree.ErrNotFound)
	apply(t, x, tree.Swap("/:stock/:wood/elm", tree.PayloadVersion(tree.Equal, 2), []byte("7")), tree.Swap("/:stock/:wood/elm", tree.DataMatches("7"), []byte("8")))
	require.Len(t, apply(t, x, tree.PutMany(pattern(t, "/:stock/*/*"), []byte("1"))).Nodes, 3)
	require.Len(t, apply(t, x, tree.PutMany(pattern(t, "/:stock/*/new"), []byte("1"))).Nodes, 1, "a name at the end is made")
	require.Len(t, apply(t, x, tree.ClearMany(pattern(t, "/:stock/:wood/*m*"))).Nodes, 2)
	require.Equal(t, tree.NoPayload, get(t, x, "/:stock/:wood/elm").Payload.Kind)
	gone := apply(t, x, tree.DeleteMany(pattern(t, "/:stock/:wood/*a*")))
	require.Equal(t, []string{"/:stock/:wood/elm", "/:stock/:wood/new"}, paths(t, x, pattern(t, "/:stock/:wood/*")))
	require.Equal(t, tree.Explicit, gone.Events[0].Reason)
	require.Empty(t, apply(t, x, tree.Delete("/:stock/:wood/oak")).Nodes)
	require.Len(t, apply(t, x, tree.Delete("/:stock")).Events, 4, "with all below it")
	apply(t, x, tree.Put("/", []byte("root")), tree.Put("/a/b", nil), tree.Delete("/"))
	require.Equal(t, tree.Node{Path: "/", PayloadVersion: 3, ChildListVersion: 5}, get(t, x, "/"))
}

// H4: each condition.
func TestConditions(t *testing.T) {
	x := stock(t)
	apply(t, x, tree.Put("/:stock/:wood/pine", []byte(`{"left":3,"of":[1,"two"]}`)), tree.PutProcedure("/:stock/count", "count"), tree.Put("/:stock/:wood/oak", []byte("42")))
	wood := tree.Path("/:stock/:wood").Pattern()
	for _, c := range []struct {
		with tree.Condition
		want string
	}{
		{tree.NameMatches(""), "maple oak pine"},
		{tree.NameMatches("^.a"), "maple oak"},
		{tree.Not(tree.Is("oak")), "maple pine"},
		{tree.Any(tree.Is("oak"), tree.Is("pine")), "oak pine"},
		{tree.All(tree.NameMatches("e$"), tree.Not(tree.NameMatches("^m"))), "pine"},
		{tree.DataMatches(`"_"`), "maple oak pine"},
		{tree.DataMatches("42.0"), "oak"},
		{tree.DataMatches(`"$1"`, tree.Guard{Variable: "$1", Compare: tree.Less, Value: "40"}), "maple"},
		{tree.DataMatches(`{"left":"$1"}`, tree.Guard{Variable: "$1", Compare: tree.GreaterOrEqual, Value: "3"}), "pine"},
		{tree.DataMatches(`{"left":"$1"}`, tree.Guard{Variable: "$1", Compare: tree.Greater, Value: "3"}), ""},
		{tree.DataMatches(`{"of":["_","two"]}`), "pine"},
		{tree.DataMatches(`{"of":["$1","$1"]}`), ""},
		{tree.DataMatches(`{"none":"_"}`), ""},
		{tree.PayloadVersion(tree.Equal, 2), "oak"},
		{tree.PayloadVersion(tree.NotEqual, 2), "maple pine"},
		{tree.ChildListVersion(tree.LessOrEqual, 1), "maple oak pine"},
		{tree.ChildListLength(tree.Greater, 0), ""},
		{tree.NodeExists(true), "maple oak pine"},
		{tree.HasPayload(false), ""},
	} {
		var names []string
		for _, p := range paths(t, x, append(wood, c.with)) {
			names = append(names, tree.Path(p).Name())
		}
		require.Equal(t, c.want, strings.Join(names, " "), "%+v", c.with)
	}
	everywhere := func(c tree.Condition) []string {
		return paths(t, x, tree.Pattern{tree.All(tree.PathMatches(""), c)})
	}
	require.Equal(t, []string{"/:stock/count"}, everywhere(tree.HasProcedure(true)))
	require.Equal(t, []string{"/:stock", "/:stock/:wood"}, everywhere(tree.HasPayload(false)))
	require.Equal(t, []string{"/:stock", "/:stock/:wood", "/:stock/count"}, everywhere(tree.HasData(false)))
	require.Equal(t, []string{"/:stock/:wood"}, everywhere(tree.ChildListLength(tree.Equal, 3)))
	require.Equal(t, []string{"/:stock/:wood/oak"}, paths(t, x, pattern(t, "/**/oak")))
	require.Equal(t, []string{"/:stock/:wood/oak"}, paths(t, x, pattern(t, "/**/**/o*")))
	require.Len(t, paths(t, x, pattern(t, "/**")), 6)
}

// H5: a parent that goes with its last child; a node that goes with another; what goes with a session.
func TestKeepWhile(t *testing.T) {
	x := empty(t)
	children := tree.Keep{Path: ".", If: tree.ChildListLength(tree.Greater, 0)}
	apply(t, x, tree.Put("/emails", nil).Kept(children), tree.Put("/emails/alice", []byte("a")), tree.Put("/emails/bob", []byte("b")), tree.Delete("/emails/alice"))
	require.Equal(t, []string{"/emails", "/emails/bob"}, paths(t, x, pattern(t, "/**")))
	gone := apply(t, x, tree.Delete("/emails/bob"))
	require.Empty(t, paths(t, x, pattern(t, "/**")))
	require.Equal(t, []tree.Reason{tree.Explicit, tree.KeepWhile}, []tree.Reason{gone.Events[0].Reason, gone.Events[1].Reason})

	there := func(path string) tree.Keep { return tree.Keep{Path: path, If: tree.NodeExists(true)} }
	refused(t, x, tree.Put("/a", nil).Kept(there("/b")), tree.ErrKeepWhile)
	apply(t, x, tree.Put("/c", nil), tree.Put("/b/x", nil).Kept(there("/c")), tree.Put("/a", nil).Kept(there("../b/x")))
	refused(t, x, tree.Put("/c", nil).Kept(there("/a")), tree.ErrKeepCycle)
	refused(t, x, tree.Put("/c", nil).Kept(there("/a/../b")), tree.ErrPath)
	refused(t, x, tree.Put("/c", nil).Kept(there("../../b")), tree.ErrPath)
	require.Len(t, apply(t, x, tree.Delete("/c")).Events, 3, "one after the other")
	require.Equal(t, []string{"/b"}, paths(t, x, pattern(t, "/**")))

	alive := tree.Keep{Session: "sim-1"}
	refused(t, x, tree.Put("/s", nil).Kept(alive), tree.ErrSession)
	apply(t, x, tree.Command{Kind: tree.KindOpenSession, Name: "sim-1"}, tree.Put("/s", nil).Kept(alive), tree.Put("/forgot", nil).Kept(alive),
		tree.Command{Kind: tree.KindPut, Pattern: tree.Path("/forgot").Pattern(), Forget: true})
	refused(t, x, tree.Command{Kind: tree.KindOpenSession, Name: "sim-1"}, tree.ErrSessionOpen)
	apply(t, x, tree.Command{Kind: tree.KindEndSession, Name: "sim-1"})
	require.Equal(t, []string{"/b", "/forgot"}, paths(t, x, pattern(t, "/**")))
	refused(t, x, tree.Command{Kind: tree.KindEndSession, Name: "sim-1"}, tree.ErrSession)
}

// A cycle is found through nodes above those that are watched, and a node that watches the one above it is none.
func TestKeepWhileCycles(t *testing.T) {
	x := empty(t)
	there := func(path string) tree.Keep { return tree.Keep{Path: path, If: tree.NodeExists(true)} }
	apply(t, x, tree.Put("/x", nil), tree.Put("/a/b", nil).Kept(there("..")), tree.Put("/a", nil).Kept(there("/x")))
	refused(t, x, tree.Put("/x", nil).Kept(there("/a/b")), tree.ErrKeepCycle)
	refused(t, x, tree.Put("/a", nil).Kept(there("./b")), tree.ErrKeepCycle)
	apply(t, x, tree.Put("/y", nil).Kept(there("/a/b")), tree.Delete("/x"))
	require.Empty(t, paths(t, x, pattern(t, "/**")))
}

// H6: the transaction of Khepri's README: order wood if there are less than 100.
func TestTransactions(t *testing.T) {
	x := empty(t)
	apply(t, x, tree.Put("/:stock/:wood", []byte("99")))
	order := func(x *tree.Tree) bool {
		var ordered bool
		c, err := x.Propose(func(tx *tree.Tx) error {
			ordered = false
			wood, err := strconv.Atoi(string(tx.Data("/:stock/:wood", []byte("0"))))
			if err != nil || wood >= 100 {
				return err
			}
			if _, err := tx.Get("/:order/:wood"); err == nil {
				return nil // it has been ordered
			}
			_, err = tx.Do(tree.Put("/:order/:wood", []byte("1000")))
			require.Equal(t, "1000", string(tx.Data("/:order/:wood", nil)), "a transaction sees what it writes")
			ordered = true
			return err
		})
		require.NoError(t, err)
		_, err = x.Apply(c)
		require.NoError(t, err)
		return ordered
	}
	require.True(t, order(x))
	require.False(t, order(x))
	require.Equal(t, "1000", string(get(t, x, "/:order/:wood").Payload.Bytes))

	_, err := x.Propose(func(tx *tree.Tx) error {
		_, err := tx.Do(tree.Delete("/:order"))
		require.NoError(t, err)
		_, err = tx.Do(tree.Create("/:stock/:wood", nil))
		return err
	})
	require.ErrorIs(t, err, tree.ErrExists, "aborted")
	require.Equal(t, "1000", string(get(t, x, "/:order/:wood").Payload.Bytes))
	require.ErrorIs(t, x.Query(func(tx *tree.Tx) error { _, err := tx.Do(tree.Delete("/")); return err }), tree.ErrReadOnly)

	clock := 0
	_, err = x.Propose(func(tx *tree.Tx) error {
		clock++
		_, err := tx.Do(tree.Put("/now", []byte(strconv.Itoa(clock))))
		return err
	})
	require.ErrorIs(t, err, tree.ErrNotDeterministic)
	var kept *tree.Tx
	require.NoError(t, x.Query(func(tx *tree.Tx) error { kept = tx; return nil }))
	_, err = kept.Get("/")
	require.ErrorIs(t, err, tree.ErrEnded)
	refused(t, x, tree.Command{Kind: tree.KindTransaction, Commands: []tree.Command{tree.Delete("/:order"), tree.Update("/none", nil)}}, tree.ErrNotFound)
}

// H7: greater priorities first, then by name; for the actions that are asked for.
func TestTriggersRunInOrder(t *testing.T) {
	x := empty(t)
	apply(t, x, tree.PutProcedure("/procs/note", "note"))
	for _, r := range []tree.Trigger{
		{ID: "b", Filter: pattern(t, "/:stock/**")},
		{ID: "a", Filter: pattern(t, "/:stock/**")},
		{ID: "z", Filter: pattern(t, "/:stock/**"), Priority: 10},
		{ID: "gone", Filter: pattern(t, "/:stock/*/oak"), On: []tree.Action{tree.Deleted}, Priority: -1},
	} {
		r.Procedure = "/procs/note"
		apply(t, x, tree.Register(r))
	}
	apply(t, x, tree.Put("/:stock/:wood", nil))
	fired := func(r tree.Result) (out []string) {
		for _, f := range r.Fired {
			require.Equal(t, "note", f.Procedure)
			out = append(out, f.Trigger+" "+string(f.Event.Action)+" "+f.Event.Path.Name())
		}
		return out
	}
	require.Equal(t, []string{"z create oak", "a create oak", "b create oak"}, fired(apply(t, x, tree.Put("/:stock/:wood/oak", []byte("1")))))
	require.Equal(t, []string{"z update oak", "a update oak", "b update oak"}, fired(apply(t, x, tree.Put("/:stock/:wood/oak", []byte("2")))))
	require.Equal(t, []string{"z delete oak", "a delete oak", "b delete oak", "gone delete oak"}, fired(apply(t, x, tree.Delete("/:stock/:wood/oak"))))
	apply(t, x, tree.Command{Kind: tree.KindNoTrigger, Name: "z"}, tree.Command{Kind: tree.KindNoTrigger, Name: "a"})
	require.Equal(t, []string{"b create elm"}, fired(apply(t, x, tree.Put("/:stock/:wood/elm", nil))))
	refused(t, x, tree.Command{Kind: tree.KindNoTrigger, Name: "z"}, tree.ErrTrigger)
	apply(t, x, tree.Delete("/procs"))
	require.Empty(t, apply(t, x, tree.Delete("/:stock/:wood/elm")).Fired[0].Procedure, "there is no procedure any more")
}

// H8: the functions copy, simple, and one that sees what was before.
func TestProjections(t *testing.T) {
	changes := func(path tree.Path, before, after *tree.Node) []tree.Row {
		return []tree.Row{{Key: string(path), Value: strconv.AppendBool(strconv.AppendBool(nil, before != nil), after != nil)}}
	}
	byName := tree.Simple(func(path tree.Path, data []byte) (string, []byte) { return path.Name(), append([]byte("n"), data...) })
	x, err := tree.New(tree.Limits{}, map[string]tree.Function{"changes": changes, "by-name": byName})
	require.NoError(t, err)
	apply(t, x, tree.Put("/w/oak", []byte("1")))
	all := tree.Pattern{tree.Is("w"), tree.All(tree.NameMatches(""), tree.Not(tree.DataMatches("0")))}
	for _, name := range []string{"copy", "changes", "by-name"} {
		apply(t, x, tree.Project(tree.Projection{Name: name, Filter: all, Function: name}))
	}
	apply(t, x, tree.Put("/w/elm", []byte("2")), tree.Put("/w/ash", []byte("0")), tree.Put("/v/elm", []byte("3")))
	rows := func(name string) (out []string) {
		list, err := x.Rows(name)
		require.NoError(t, err)
		for _, r := range list {
			out = append(out, r.Key+"="+string(r.Value))
		}
		return out
	}
	require.Equal(t, []string{"/w/elm=2", "/w/oak=1"}, rows("copy"))
	require.Equal(t, []string{"elm=n2", "oak=n1"}, rows("by-name"))
	apply(t, x, tree.Put("/w/oak", []byte("0")), tree.Put("/w/elm", []byte("4")))
	require.Equal(t, []string{"/w/elm=4"}, rows("copy"), "what matches no more is gone")
	require.Equal(t, []string{"/w/elm=truetrue", "/w/oak=truefalse"}, rows("changes"))
	value, found, err := x.Row("by-name", "elm")
	require.True(t, found && err == nil && string(value) == "n4")
	apply(t, x, tree.Delete("/w"))
	require.Empty(t, rows("by-name"))
	refused(t, x, tree.Project(tree.Projection{Name: "p", Filter: tree.Pattern{tree.ChildListLength(tree.Equal, 0)}, Function: "copy"}), tree.ErrPattern)
	_, err = x.Try(tree.Project(tree.Projection{Name: "p", Function: "none"}))
	require.ErrorIs(t, err, tree.ErrFunction)
	apply(t, x, tree.Command{Kind: tree.KindNoProjection, Name: "copy"})
	_, err = x.Rows("copy")
	require.ErrorIs(t, err, tree.ErrProjection)
}

// H10: export and import of a part: what else is there stays, and what keeps nodes comes along.
func TestExportAndImport(t *testing.T) {
	x := stock(t)
	apply(t, x, tree.Put("/:stock/:wood/a", []byte("x")).Kept(tree.Keep{Path: "../oak", If: tree.NodeExists(true)}),
		tree.Command{Kind: tree.KindOpenSession, Name: "s"}, tree.Put("/:stock/mine", nil).Kept(tree.Keep{Session: "s"}))
	var out strings.Builder
	require.NoError(t, x.Export(&out, pattern(t, "/:stock/**")))
	commands, err := tree.Import(strings.NewReader(out.String()))
	require.NoError(t, err)
	y := empty(t)
	apply(t, y, tree.Put("/other", []byte("stays")))
	apply(t, y, commands...)
	require.Equal(t, []string{"/:stock", "/:stock/:wood", "/:stock/:wood/a", "/:stock/:wood/maple", "/:stock/:wood/oak", "/other"}, paths(t, y, pattern(t, "/**")))
	apply(t, y, tree.Delete("/:stock/:wood/oak"))
	require.Equal(t, []string{"/:stock/:wood/maple"}, paths(t, y, pattern(t, "/:stock/:wood/*")))
	_, err = tree.Import(strings.NewReader(`{"kind":"delete"}`))
	require.ErrorIs(t, err, tree.ErrCommand)
	require.ErrorContains(t, err, "line 1")
}

// Each kind of bad input has an error of its own, and changes nothing.
func TestBadInputChangesNothing(t *testing.T) {
	x, err := tree.New(tree.Limits{Payload: 10, Nodes: 30, Depth: 4, Walk: 20, Commands: 3}, nil)
	require.NoError(t, err)
	for i := range 25 {
		apply(t, x, tree.Put(tree.At("many", strconv.Itoa(i)), nil))
	}
	for _, path := range []tree.Path{"/a/../b", "/..", "/.", "/a//b", "/a/", "a", "", "/a/%2f", "/a/%41", "/a*b", "/\x00", "/\xff", tree.Path("/" + strings.Repeat("x", 256)), "/a/b/c/d/e"} {
		refused(t, x, tree.Put(path, nil), tree.ErrPath)
	}
	refused(t, x, tree.Put("/a", make([]byte, 11)), tree.ErrPayload)
	refused(t, x, tree.DeleteMany(pattern(t, "/**")), tree.ErrWalk)
	refused(t, x, tree.PutMany(pattern(t, "/many/*"), nil), tree.ErrWalk)
	apply(t, x, tree.Put("/1", nil), tree.Put("/2", nil), tree.Put("/3", nil))
	refused(t, x, tree.Put("/a/b/c", nil), tree.ErrNodes)
	refused(t, x, tree.Command{Kind: tree.KindTransaction, Commands: make([]tree.Command, 4)}, tree.ErrCommand)
	refused(t, x, tree.Command{Kind: "none"}, tree.ErrCommand)
	refused(t, x, tree.Register(tree.Trigger{ID: "t", Procedure: "/p", On: []tree.Action{"x"}}), tree.ErrCommand)
	refused(t, x, tree.Command{Kind: tree.KindTrigger}, tree.ErrCommand)
	for _, c := range []tree.Condition{
		{Test: "none"}, tree.NameMatches("("), tree.DataMatches("{"), tree.DataMatches("1 2"), tree.All(), tree.PayloadVersion("x", 1),
		tree.DataMatches("1", tree.Guard{Variable: "$1", Compare: tree.Equal, Value: "1"}), tree.NameMatches(strings.Repeat("x", 1001)),
	} {
		refused(t, x, tree.DeleteMany(tree.Pattern{c}), tree.ErrCondition)
	}
	deep := tree.Is("x")
	for range 20 {
		deep = tree.Not(deep)
	}
	refused(t, x, tree.DeleteMany(tree.Pattern{deep}), tree.ErrCondition)
	_, err = tree.New(tree.Limits{Payload: 1 << 30}, nil)
	require.ErrorContains(t, err, "limit payload is 1073741824: give 1 to 524288")
}
