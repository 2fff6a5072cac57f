package bus

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/lcm/names"
)

func TestABadURLOpensNothing(t *testing.T) {
	for _, url := range []string{"", "memq://", "udpm://10.0.0.1:7667", "tcpq://host:port", "file://"} {
		_, err := Open(url, Options{})
		var wrong *names.URLError
		assert.ErrorAs(t, err, &wrong, url)
	}
}

func TestABusThatCannotBeHadSaysWhy(t *testing.T) {
	for _, url := range []string{"tcpq://127.0.0.1:1", "file:///no/such/directory/x.lcmlog"} {
		_, err := Open(url, Options{})
		require.Error(t, err)
		var wrong *names.URLError
		assert.NotErrorAs(t, err, &wrong)
		assert.ErrorContains(t, err, url)
	}
}
