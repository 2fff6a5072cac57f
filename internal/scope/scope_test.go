package scope

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/metasim"
)

func plant(t *testing.T) Set {
	t.Helper()
	set := Set{}
	require.NoError(t, set.Add(&Nested{Name: "hall.1", Expose: map[string]string{"OUT": "SHIPPED"}}))
	require.NoError(t, set.Add(&Nested{Name: "hall.1/cell", Expose: map[string]string{"done": "OUT", "part": "IN"}}))
	return set
}

func TestNames(t *testing.T) {
	set := plant(t)
	hall, cell := set["hall.1"], set["hall.1/cell"]
	assert.Equal(t, cell, set.Of("hall.1/cell/arm"))
	assert.Equal(t, hall, set.Of("hall.1/cell"), "the name of a scope is one of the scope around it")
	assert.Nil(t, set.Of("hall/x"))
	for own, full := range map[string]string{"done": "SHIPPED", "part": "hall.1/IN", "OUT": "hall.1/cell/OUT", "x/y": "hall.1/cell/x/y"} {
		assert.Equal(t, full, cell.Channel(own))
		again, known := cell.Own(full)
		assert.True(t, known)
		assert.Equal(t, own, again)
	}
	for _, unknown := range []string{"done", "OUT", "hall.1/cell/done", "hall.1/x", "hall.1/cell/", "hall_1/cell/x"} {
		_, known := cell.Own(unknown)
		assert.False(t, known, unknown)
	}
	assert.Equal(t, "SHIPPED", set.Hides("hall.1/cell/done"))
	assert.Equal(t, "SHIPPED", set.Hides("hall.1/OUT"))
	assert.Empty(t, set.Hides("hall.1/cell/x"))
	for client, called := range map[string]string{"hall.1/cell/arm": "arm", "hall.1/clerk": "clerk", "gate": "gate", "hall.2/clerk": "hall.2/clerk"} {
		assert.Equal(t, called, cell.Calls(client))
	}
	var outermost *Scope
	assert.Equal(t, "x", outermost.Channel("x"))
	assert.Equal(t, "a/x", outermost.Calls("a/x"))
}

func TestExpressionsThatSayWhereANameBegins(t *testing.T) {
	for own, inside := range map[string]string{
		"^done$": "done", "^(a|^b)c": "bc", `\Ax.*`: "xyz", "(?i)^DO": "do", "a+b": "aab", "x+": "x+", "^": "",
	} {
		all, err := plant(t)["hall.1/cell"].Subscriptions(own)
		require.NoError(t, err)
		full := "hall.1/cell/" + inside
		if own == "^done$" {
			full = "SHIPPED"
		}
		assert.True(t, heard(all, full), "%s: %s", own, all)
		assert.False(t, heard(all, strings.Replace(full, ".", "_", 1)) && strings.Contains(full, "."), own)
	}
}

func TestAnExpressionThatCannotBeSaidInside(t *testing.T) {
	_, err := plant(t)["hall.1/cell"].Subscriptions("a?^b")
	assert.ErrorContains(t, err, "write the ^ first")
}

func heard(subscriptions []string, channel string) bool {
	for _, s := range subscriptions {
		if metasim.MatchSubscription(s, channel) {
			return true
		}
	}
	return false
}

// The law of translation: a client hears a channel under its full name exactly if, alone, it would hear it under its own.
func TestASubscriptionMeansTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SampledFrom([]string{"a", "b", "ab", "a.b", "a/b", "s/a", "b*", "c"})
		expose := rapid.MapOf(names, names).Draw(t, "expose")
		set := Set{}
		require.NoError(t, set.Add(&Nested{Name: "p"}))
		if set.Add(&Nested{Name: "p/s", Expose: expose}) != nil {
			return // it is refused
		}
		s := set["p/s"]
		own := rapid.SampledFrom([]string{"a", "b", ".*", "a.*", "^a", "^a|b", "a.b", "b+", "b*", "(a|b)/?b?", `\Aa.b$`, "[ab]+", "s/.*"}).Draw(t, "own")
		p, err := metasim.CompilePattern(own)
		require.NoError(t, err)
		all, err := s.Subscriptions(own)
		require.NoError(t, err)
		for _, text := range all {
			_, err := regexp.Compile(text)
			require.NoError(t, err)
		}
		channel := names.Draw(t, "channel")
		assert.Equal(t, p.Match(channel), heard(all, s.Channel(channel)), "%s as %q, %s", own, all, s.Channel(channel))
		back, known := s.Own(s.Channel(channel))
		assert.True(t, known)
		assert.Equal(t, channel, back)
		assert.False(t, heard(all, "p/"+channel) && !known)
		other := names.Draw(t, "other")
		if other != channel {
			assert.NotEqual(t, s.Channel(channel), s.Channel(other), "two channels have one name")
		}
	})
}

// An expression of a client is one group. A name is in no group, and the expression of another scope neither.
func TestTogether(t *testing.T) {
	cell := plant(t)["hall.1/cell"]
	for _, own := range []string{"(done|x)", "^d.*", "part.?", "[a-c]", ".*", `\w+`} {
		all, err := cell.Subscriptions(own)
		require.NoError(t, err)
		if own == ".*" {
			require.Equal(t, [][]string{append(slices.Clone(all), own)}, cell.Together(append(all, "other/(?:x)")))
			continue
		}
		require.Equal(t, [][]string{all}, cell.Together(append([]string{"other/(?:x)", "a"}, all...)), own)
	}
	one, err := cell.Subscriptions("done")
	require.NoError(t, err)
	require.Empty(t, cell.Together(one))
	require.Empty(t, (*Scope)(nil).Together([]string{".*"}))
}
