package journal_test

import (
	"crypto/sha256"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/record/journal"
)

// Equal JSON is equal text, and what is not equal stays so: integers keep all their digits.
func TestCanonicalResult(t *testing.T) {
	for given, want := range map[string]string{
		``: ``,
		` { "b" : 1.50, "a" : [ 1e3, "\u0041" ] } `: `{"a":[1000,"A"],"b":1.5}`,
		`{"n":18446744073709551615}`:                `{"n":18446744073709551615}`,
		`9007199254740993`:                          `9007199254740993`,
		`1.0`:                                       `1`,
		`{"a":1,"a":2}`:                             `{"a":1,"a":2}`, // two members of one name: no canonical text, so it stays
		`no JSON`:                                   `no JSON`,
		"\"\xff\"":                                  "\"\xff\"",
	} {
		in := []byte(given)
		require.Equal(t, want, string(journal.CanonicalResult(in)), given)
		require.Equal(t, given, string(in), "the result itself stays as it was")
	}
}

func TestResultsDigest(t *testing.T) {
	digest := func(results ...string) metasim.Digest {
		var all [][]byte
		for _, r := range results {
			all = append(all, []byte(r))
		}
		return journal.ResultsDigest([]string{"a", "bc"}, all)
	}
	require.Equal(t, metasim.Digest(sha256.Sum256([]byte("\x01\x00\x00\x00a\x07\x00\x00\x00{\"n\":1}\x02\x00\x00\x00bc\x00\x00\x00\x00"))),
		digest(`{ "n" : 1 }`, ``))
	require.NotEqual(t, digest(`{}`, ``), digest(``, `{}`))
	require.NotEqual(t, digest(`{"n":1}`, ``), digest(`{"n":2}`, ``))
}
