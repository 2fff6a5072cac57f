package types

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The fingerprints of types for which lcm-gen's C cannot be compiled are those of the Python that it generates.
func TestFingerprintsOfLCMGenPython(t *testing.T) {
	ring := parsed(t, `package ring;
		struct a_t { int8_t n; b_t next[n]; c_t end; }
		struct b_t { int32_t n; a_t back[n][2]; c_t more[n]; color_t color; }
		struct c_t { int16_t n; b_t up[n]; string s; c_t self[n]; }
		enum color_t { RED }`)
	require.Equal(t, uint64(0xb6048aa80b152fa8), ring.Lookup("ring.a_t").Fingerprint)
	require.Equal(t, uint64(0x373c598ab7ae1148), ring.Lookup("ring.b_t").Fingerprint)
	require.Equal(t, uint64(0x6478f9a19763f32d), ring.Lookup("ring.c_t").Fingerprint)

	// The length of a name is hashed as a C char, which is signed.
	x, y := strings.Repeat("x", 130), strings.Repeat("y", 200)
	long := parsed(t, "struct l_t { int8_t "+x+"; int8_t k"+y+"; double y[k"+y+"]; }")
	require.Equal(t, uint64(0x3cac0a26dfad25c5), long.Lookup("l_t").Fingerprint)
}
