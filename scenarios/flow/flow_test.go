package flow

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/delay"
	"metasim/federates/catalog"
)

// model is a group of one client that forwards what it receives, unless it receives nothing.
func model(name string, publishes, subscribes []string) Group {
	return Group{Names: []string{name}, Ports: catalog.Ports{
		Publications: publishes, Subscriptions: subscribes, Forwards: len(subscribes) > 0}}
}

func connected(t *testing.T, rules []delay.Rule, groups ...Group) *Graph {
	g := New(rules)
	g.Groups = groups
	require.NoError(t, g.Connect())
	return g
}

func TestEdges(t *testing.T) {
	g := connected(t, nil,
		model("a", []string{"X", "LOST"}, nil), model("b", []string{"Y"}, []string{"X", "X.*"}), model("c", nil, []string{"Y", "Z"}))
	assert.Equal(t, []Edge{{0, 1, "X"}, {0, 1, "X"}, {1, 2, "Y"}}, g.Edges, "two subscriptions are two edges")

	g.Groups[0].Ports.Subscriptions = []string{"("}
	assert.Error(t, g.Connect())
}

// LCM itself calls a channel "A+" if asked to. The expression of that text is for it too, as it is in a run.
func TestANameThatIsAnExpression(t *testing.T) {
	g := connected(t, nil, model("a", []string{"A+"}, nil), model("b", nil, []string{"A+"}))
	assert.Equal(t, []Edge{{0, 1, "A+"}}, g.Edges)
}

func TestTheLastRuleDecides(t *testing.T) {
	g := connected(t, []delay.Rule{{}, {From: "a", Spec: delay.Spec{Delay: delay.Constant(5)}}, {Channel: "Z"}},
		model("a", []string{"X"}, nil), model("b", []string{"X"}, []string{"X"}))
	assert.Equal(t, 1, g.Rule(Edge{0, 1, "X"}))
	assert.Equal(t, 0, g.Rule(Edge{1, 1, "X"}))
	assert.EqualValues(t, 5, g.Spec(1).Min())
	g.Rules = g.Rules[1:]
	assert.Equal(t, NoRule, g.Rule(Edge{1, 1, "X"}))
	assert.Equal(t, delay.Spec{}, g.Spec(NoRule))
}

func TestCycles(t *testing.T) {
	g := connected(t, nil, model("a", []string{"X"}, []string{"Y"}), model("b", []string{"Y"}, []string{"X"}))
	cycle := g.Cycle(func(Edge) bool { return true })
	assert.Equal(t, "a -X-> b -Y-> a", g.Draw(cycle))
	assert.Nil(t, g.Cycle(func(e Edge) bool { return e.Channel == "X" }))
	assert.Equal(t, []bool{false, false}, g.Reached(), "nothing begins")

	g = connected(t, nil, model("s", []string{"Y"}, nil), g.Groups[0], g.Groups[1])
	assert.Equal(t, []bool{false, true, true}, g.Reached())
	long := make([]Edge, 9)
	for i := range long {
		long[i] = Edge{1, 1, "X"}
	}
	assert.Regexp(t, `^a( -X-> a){8} \.\.\.$`, g.Draw(long))
}

func TestAGraphSaysWhenItIsTooLarge(t *testing.T) {
	g := connected(t, nil, model("a", []string{"X"}, nil), model("b", nil, []string{"X", "Y"}))
	assert.False(t, g.TooLarge())
	assert.False(t, g.Spend(effort))
	assert.True(t, g.TooLarge())
	require.NoError(t, g.Connect())
	assert.False(t, g.Complete)
}
