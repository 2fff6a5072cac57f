package metasim

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func compiled(t require.TestingT, s string) Pattern {
	p, err := CompilePattern(s)
	require.NoError(t, err)
	return p
}

func TestPattern(t *testing.T) {
	name, expr := compiled(t, "POSE"), compiled(t, "A+")
	require.True(t, name.IsName())
	require.False(t, expr.IsName())
	require.Equal(t, "A+", expr.Text())
	for channel, matches := range map[string]bool{"A": true, "AAA": true, "A+": true, "AB": false, "": false} {
		require.Equal(t, matches, expr.Match(channel), channel)
	}
	_, err := CompilePattern("X)|(Y")
	require.Error(t, err)
}

func TestImpossible(t *testing.T) {
	for s, impossible := range map[string]bool{
		"POSE": false, ".*": false, "A|B": false, "^A$": false, "A$": false, "(?i)pose": false, `\bA\b`: false, `[^a]`: false,
		`A\B.`: false, `(?m)A$\nB`: false, `A{3,5}`: false, `A|B$C`: false, `[\x21-\x7e]+\b`: false, `(A$)?B`: false, `\x{212A}`: false,
		`A$B`: true, `A^B`: true, `^A|B` + "^": false, `A\bB`: true, `A\B-`: true, `-\B_`: true, `[^\x00-\x{10FFFF}]`: true, `(?m)A$B`: true,
		`A\z.`: true, `(A$B|C^D)+`: true, `[A-Z]\b[0-9]`: true, `[ -/]\b[!-&]`: true, `[ -/]\b[!-0]`: false, `\s\b\s*`: true, `^$^.`: true, `(?s)A.B`: false, `(?s).^`: true,
	} {
		require.Equal(t, impossible, compiled(t, s).Impossible(), s)
	}
}

// Impossible is true for an expression of a few signs if and only if it matches none of the names of a few runes.
func TestImpossibleIsExact(t *testing.T) {
	names := []string{""}
	for i := 0; i < len(names) && len(names) < 5000; i++ {
		for _, r := range "AB-\n" {
			names = append(names, names[i]+string(r))
		}
	}
	sign := rapid.SampledFrom([]string{"A", "-", ".", "[^A]", "^", "$", `\b`, `\B`, "(?m:^)", "(?m:$)", `\n`, "|", "(?:A|-)", "(?:$|A)", `(?:\b-)?`})
	joined := rapid.Map(rapid.SliceOfN(sign, 1, 5), func(signs []string) string { return strings.Join(signs, "") })
	expressions := joined.Filter(func(s string) bool { return regexp.QuoteMeta(s) != s })
	rapid.Check(t, func(t *rapid.T) {
		s := expressions.Draw(t, "expression")
		p := compiled(t, s)
		matches := false
		for _, name := range names {
			matches = matches || p.expr.MatchString(name)
		}
		require.Equal(t, !matches, p.Impossible(), "%q", s)
	})
}

// A subscription in text is for what its pattern is for, and one that cannot be compiled for nothing. A client that joins with compiled ones
// is given the same.
func TestMatchSubscription(t *testing.T) {
	require.True(t, MatchSubscription("STATE|POSE", "POSE"))
	require.False(t, MatchSubscription("STATE|POSE", "POSES"))
	require.False(t, MatchSubscription("(", "("))
	for _, compiled := range []bool{false, true} {
		d, err := New(Config{Clients: []string{"a", "b"}})
		require.NoError(t, err)
		d.Step(&Join{Client: 0, Publications: []string{"POSE"}})
		join := &Join{Client: 1, Subscriptions: []string{"STATE|POSE"}}
		if compiled {
			p, err := CompilePattern(join.Subscriptions[0])
			require.NoError(t, err)
			join.Compiled([]Pattern{p})
		}
		d.Step(join)
		d.Step(&Begin{})
		require.Equal(t, ClientID(1), d.Step(&Send{Client: 0, Channel: "POSE"})[0].(*Queue).To)
	}
}
