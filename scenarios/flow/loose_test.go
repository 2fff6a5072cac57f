package flow

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func looseEnds(t *testing.T, clients ...Declaration) []LooseEnd {
	ends, complete := LooseEnds(clients)
	require.True(t, complete)
	return ends
}

func says(client string, publications, subscriptions []string) Declaration {
	return Declaration{Client: client, Publications: publications, Subscriptions: subscriptions}
}

// A typing error in a subscription is one loose end: the channel that was meant is not said again, though nobody hears it.
func TestTypingErrors(t *testing.T) {
	for sub, meant := range map[string]string{
		"STAET": "STATE", "STATES": "STATE", "state": "STATE", "STATE*": "", "CMD*": "CMD.*", "CMD_*": "CMD_.*",
		"STAET.*": "STATE.*", "CMD-VEL": "CMD_VEL", "BANANA": "", "BANANA.*": "", "WHEEL_FL": "", "WHEEL_FRR": "WHEEL_FR", "CAM_2": "", "CMA_1": "CAM_1", "ABM_.*": "",
	} {
		ends := looseEnds(t, says("p", []string{"STATE", "CMD_VEL", "WHEEL_FR", "CAM_1"}, nil), says("plant", nil, []string{sub}),
			says("log", nil, []string{".*"}))
		if sub == "STATE*" { // it repeats the last letter, and so matches
			require.Empty(t, ends)
			continue
		}
		require.Equal(t, []LooseEnd{{Name: sub, Clients: []string{"plant"}, Meant: meant}}, ends, sub)
	}
	ends := looseEnds(t, says("p", []string{"STATE", "X"}, nil), says("q", nil, []string{"STAET", "A$B"}))
	require.Equal(t, []LooseEnd{
		{Name: "A$B", Clients: []string{"q"}, Impossible: true}, {Name: "STAET", Clients: []string{"q"}, Meant: "STATE"},
		{Name: "X", Clients: []string{"p"}, Unheard: true},
	}, ends)
	ends = looseEnds(t, says("a", []string{"POSE"}, nil), says("b", []string{"POES"}, nil), says("c", nil, []string{"POSE"}))
	require.Equal(t, []LooseEnd{{Name: "POES", Clients: []string{"b"}, Unheard: true, Meant: "POSE"}}, ends)
	ends = looseEnds(t, says("a", []string{"STATE", "SPARE"}, nil), says("c", nil, []string{"STATE"}))
	require.Equal(t, []LooseEnd{{Name: "SPARE", Clients: []string{"a"}, Unheard: true}}, ends,
		"a knows STATE")
}

// Who listens to everything, to oneself, or takes part for others gives no noise.
func TestNoLooseEnds(t *testing.T) {
	for _, all := range []string{".*", ".+", "(?s).*", "^.*$", "[^/]*", ".*|X"} {
		require.Empty(t, looseEnds(t, says("log", nil, []string{all})), all)
		require.Empty(t, looseEnds(t, says("log", nil, []string{all}), says("p", []string{"A", "B"}, nil)), all)
	}
	require.Empty(t, looseEnds(t, says("a", []string{"A"}, []string{"A"})))
	require.Empty(t, looseEnds(t, says("a", []string{"A+"}, nil), says("b", nil, []string{"A+"})))
	bridge := Declaration{Client: "bridge", Publications: []string{"IN"}, Subscriptions: []string{"OUT", "LOG.*"}, Bridge: true}
	require.Empty(t, looseEnds(t, bridge, says("a", nil, []string{".*"})))
	require.Equal(t, []LooseEnd{{Name: "OUT", Clients: []string{"bridge"}, Meant: "OUTT"}}, looseEnds(t, bridge, says("a", []string{"OUTT"}, []string{"IN"})))
}

// Clients that declare the same are one loose end.
func TestManyClients(t *testing.T) {
	var robots []Declaration
	for i := range 3 {
		own := fmt.Sprintf("POSE_%d", i)
		robots = append(robots, says(fmt.Sprintf("robot-%d", i), []string{own, own}, []string{"ESTOP", "POSE_.*", "ESTOP"}))
	}
	require.Equal(t, []LooseEnd{{Name: "ESTOP", Clients: []string{"robot-0", "robot-1", "robot-2"}}}, looseEnds(t, robots...))
	var many Declaration
	for i := range 3000 {
		many.Publications = append(many.Publications, fmt.Sprintf("C%d", i))
		many.Subscriptions = append(many.Subscriptions, fmt.Sprintf("D%d.*", i))
	}
	_, complete := LooseEnds([]Declaration{many})
	require.False(t, complete)
	many.Subscriptions = nil
	for i := range 100_000 {
		many.Publications, many.Subscriptions = append(many.Publications, fmt.Sprintf("POSE_%d", i)), append(many.Subscriptions, fmt.Sprintf("CMD_%d", i))
	}
	require.Len(t, looseEnds(t, many), 203_000, "in no time")
}

// The subscriptions of a group are loose ends only if nobody publishes for any of them. Another client that has the same subscription alone is told.
func TestSubscriptionsThatAreOne(t *testing.T) {
	inside := func(client string, publications []string) Declaration {
		d := says(client, publications, []string{"c/(?:IN_.*)", "IN_A", "IN_B"})
		d.Together = [][]string{{"c/(?:IN_.*)", "IN_A", "IN_B"}}
		return d
	}
	require.Empty(t, looseEnds(t, inside("c/a", nil), says("p", []string{"IN_A"}, nil)))
	require.Empty(t, looseEnds(t, inside("c/a", []string{"c/IN_X"}), says("p", nil, nil)))
	require.Equal(t, []LooseEnd{{Name: "IN_B", Clients: []string{"p"}}}, looseEnds(t, inside("c/a", nil), says("p", []string{"IN_A"}, []string{"IN_B"})))
	require.Len(t, looseEnds(t, inside("c/a", nil), says("p", []string{"OTHER"}, []string{"OTHER"})), 3)
	all := says("c/a", nil, []string{"c/(?:.*)"})
	require.Len(t, looseEnds(t, all), 1)
	all.Together = [][]string{{"c/(?:.*)", ".*"}}
	require.Empty(t, looseEnds(t, all), "who listens to everything is right whatever there is")
}
