package export

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/record"
	"metasim/scenarios"
)

// TestMessages: the list of messages, put into order while the journal is read, is what it is if all are gathered first.
func TestMessages(t *testing.T) {
	for name, sc := range map[string]*scenarios.Scenario{"mixed": parse(t, mixed), "star": shipped(t, "star"), "phold": shipped(t, "phold")} {
		dir := carryOut(t, sc, "mem", 2)
		for _, client := range []string{"", "all", "hasty"} {
			want, err := record.ReadLog(dir)
			require.NoError(t, err)
			if client != "" {
				if name != "mixed" {
					continue
				}
				want.Messages = slices.DeleteFunc(want.Messages, func(m record.Message) bool { return m.From != client && m.To != client })
			}
			var got []record.Message
			torn, err := Messages(want.Run, client, func(m *record.Message) error {
				got = append(got, *m)
				return nil
			})
			require.NoError(t, err)
			require.NoError(t, torn)
			require.Equal(t, len(want.Messages), len(got))
			for i := range got {
				require.Equal(t, want.Messages[i], got[i], "message %d of %s", i, name)
			}
		}
	}
	run, err := record.Open(carryOut(t, shipped(t, "star"), "mem", 2))
	require.NoError(t, err)
	_, err = Messages(run, "nobody", nil)
	require.ErrorAs(t, err, new(*record.UnknownClientError))
}
