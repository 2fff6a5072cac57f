package names

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNamesHaveTheClientsAppended(t *testing.T) {
	assert.Equal(t, "PING@pinger", Naming{}.Received("PING", "pinger"))
	assert.Equal(t, "PING@pinger>ponger", Naming{}.Delivered("PING", "pinger", "ponger"))
	assert.Equal(t, "PING_BY_pinger>ponger", Naming{Suffix: "_BY_"}.Delivered("PING", "pinger", "ponger"))
}

func TestANameBeyondLCMsIsRefusedWithWhatToShorten(t *testing.T) {
	fits := strings.Repeat("C", 63-len("@a>bb"))
	require.NoError(t, Naming{}.Check(fits, "a", "bb"))
	require.NoError(t, Naming{}.Check(fits+"CCC", "a", ""))
	err := Naming{}.Check(fits+"C", "a", "bb")
	var name *NameError
	require.ErrorAs(t, err, &name)
	assert.EqualError(t, err, `"`+fits+`C@a>bb" cannot be shown on LCM: it has 64 bytes, and LCM allows 63; `+
		`shorten channel "`+fits+`C" (59 bytes), client "a" (1) or client "bb" (2) by 1`)
	assert.ErrorContains(t, Naming{}.Check(fits+"CCCC", "a", ""), `(62 bytes) or client "a" (1) by 1`)
	assert.ErrorContains(t, Naming{}.Check("A\x00", "a", ""), "has a zero byte")
}
