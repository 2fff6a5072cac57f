package metasim

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConfigContradictions(t *testing.T) {
	for want, c := range map[string]Config{
		"a run needs at least one client": {},
		"the run ends at -5ns, before it begins; use a positive time, or 0 for no end": {
			Clients: []string{"a"}, Until: -5,
		},
		"a client may be given -1 bytes ahead; use a positive number, or 0 for 1048576":            {Clients: []string{"a"}, Ahead: -1},
		"a run may hold -2 bytes; use a positive number, or 0 for no bound":                        {Clients: []string{"a"}, Memory: -2},
		"-3 bytes may be sent without delay at one step; use a positive number, or 0 for no bound": {Clients: []string{"a"}, Cascade: -3},
		`client "b" may be given -4 bytes ahead; use a positive number`:                            {Clients: []string{"a", "b"}, AheadOf: map[string]int{"b": -4}},
		"a client has no name; name it":                                                            {Clients: []string{"a", ""}},
		"two clients are called \"a\"; a name is unique in a run":                                  {Clients: []string{"a", "b", "a"}},
	} {
		_, err := New(c)
		require.EqualError(t, err, want)
	}
}

// A Config that says nothing more than names has one step of delay on every link, and no end.
func TestConfigZero(t *testing.T) {
	clients := []string{"b", "a"}
	d, err := New(Config{Clients: clients})
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, d.Names())
	require.Equal(t, []string{"b", "a"}, clients, "the caller's list stays as it is")
	require.Equal(t, Infinity, d.End())
	d.Step(&Join{Client: 0, Publications: []string{"X"}})
	d.Step(&Join{Client: 1, Subscriptions: []string{"X"}})
	d.Step(&Begin{})
	queued := d.Step(&Send{Client: 0, Channel: "X"})[0].(*Queue)
	require.Equal(t, Instant{Step: 1}, queued.Message.Due)
}

// errors.Is tells which rule a violation broke.
func TestViolationIsRule(t *testing.T) {
	d, err := New(Config{Clients: []string{"a"}})
	require.NoError(t, err)
	effects := d.Step(&Send{Client: 0, Channel: "X"})
	require.Len(t, effects, 2)
	finish := effects[1].(*Finish)
	require.ErrorIs(t, finish.Err, NotJoined)
	require.False(t, errors.Is(finish.Err, JoinTwice))
	var v *Violation
	require.ErrorAs(t, finish.Err, &v)
	require.Equal(t, "a", v.Client)
	require.EqualError(t, NotJoined, "a client had not joined when the run began, or spoke before it")
	require.EqualError(t, Rule(200), "rule 200")
}

func TestCheckSubscription(t *testing.T) {
	for _, s := range []string{"POSE", "POSE.*", "A|B", "[AB]_1"} {
		require.NoError(t, CheckSubscription(s), s)
	}
	for _, s := range []string{"POSE(", "[", "*", "X)|(Y", ""} {
		require.Error(t, CheckSubscription(s), s)
	}
}

// A subscription costs about as many states as it has once it is compiled.
func TestSubscriptionCost(t *testing.T) {
	for s, want := range map[string][2]int{
		"PLAIN": {0, 0}, "": {0, 0}, "(": {0, 0}, "A.*": {3, 5}, "A{1000}": {1000, 3000}, `(\pL{31}){31}`: {5000, MaxSubscriptionCost + 1},
		"((a{9}){9}){9}": {729, 3000}, "(a|b|c+)?": {3, 12},
	} {
		cost := SubscriptionCost(s)
		require.True(t, want[0] <= cost && cost <= want[1], "%s costs %d", s, cost)
	}
}
