package launch

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What Slurm says of the processors of each host is read, or refused: a count that no memory holds, too.
func TestCounts(t *testing.T) {
	for text, want := range map[string][]int{"2(x3),1": {2, 2, 2, 1}, "": {1, 1, 1, 1}, "4(x4)": {4, 4, 4, 4}, "1,2,3,4": {1, 2, 3, 4}} {
		all, err := counts(text, 4)
		require.NoError(t, err, text)
		require.Equal(t, want, all, text)
	}
	for _, text := range []string{"1", "1(x5)", "0(x4)", "1(x0),1(x4)", "-1(x4)", "x", "1(x", "1,1(x9223372036854775807)", "1(x4),"} {
		_, err := counts(text, 4)
		require.ErrorContains(t, err, "SLURM_TASKS_PER_NODE is", text)
	}
}
