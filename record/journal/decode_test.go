package journal

import (
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

// Journals of earlier versions have the name of the package before the text of an error. It is read as it is written now, so
// that such a run replays without a difference.
func TestErrorsOfEarlierVersions(t *testing.T) {
	v := &metasim.Violation{Rule: metasim.AfterLeave, Client: "a"}
	require.Equal(t, error(v), restore("metasim: "+v.Error(), v))
	require.EqualError(t, restore("metasim: something else", nil), "something else")
}
