package names

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNamesHaveTheClientsAppended(t *testing.T) {
	for want, c := range map[string]struct{ suffix, recipient string }{
		"PING@pinger":           {"", ""},
		"PING@pinger>ponger":    {"", "ponger"},
		"PING_BY_pinger>ponger": {"_BY_", "ponger"},
	} {
		name, err := Naming{Suffix: c.suffix}.Channel("PING", "pinger", c.recipient)
		require.NoError(t, err)
		assert.Equal(t, want, name)
	}
}

func TestPlainNamesAreThoseOfTheChannels(t *testing.T) {
	for recipient, want := range map[string]string{"": "PING", "ponger": "PING@pinger>ponger"} {
		name, err := Naming{Plain: true}.Channel("PING", "pinger", recipient)
		require.NoError(t, err)
		assert.Equal(t, want, name)
	}
}

func TestANameBeyondLCMsIsRefusedWithWhatToShorten(t *testing.T) {
	fits := strings.Repeat("C", 63-len("@a>bb"))
	check := func(channel, recipient string) error {
		_, err := Naming{}.Channel(channel, "a", recipient)
		return err
	}
	require.NoError(t, check(fits, "bb"))
	require.NoError(t, check(fits+"CCC", ""))
	err := check(fits+"C", "bb")
	var name *NameError
	require.ErrorAs(t, err, &name)
	assert.EqualError(t, err, `"`+fits+`C@a>bb" cannot be shown on LCM: it has 64 bytes, and LCM allows 63; `+
		`shorten channel "`+fits+`C" (59 bytes), client "a" (1) or client "bb" (2) by 1`)
	assert.ErrorContains(t, check(fits+"CCCC", ""), `(62 bytes) or client "a" (1) by 1`)
	assert.ErrorContains(t, check("A\x00", ""), "has a zero byte")
}
