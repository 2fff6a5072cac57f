package journal

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A bit that is wrong anywhere in a manifest is found, and so is a manifest that ends anywhere before its last brace.
func TestEveryFlippedBitOfAManifestIsFound(t *testing.T) {
	good, err := encodeManifest(manifest())
	require.NoError(t, err)
	m, checked, err := decodeManifest(good)
	require.NoError(t, err)
	require.True(t, checked)
	require.Equal(t, "ping-pong", m.Scenario)
	for i := range good {
		for bit := range 8 {
			damaged := bytes.Clone(good)
			damaged[i] ^= 1 << bit
			_, _, err := decodeManifest(damaged)
			require.Error(t, err, "byte %d, bit %d: %s", i, bit, damaged)
		}
		_, _, err := decodeManifest(good[:i])
		require.Error(t, err, "cut at %d", i)
	}
}

// A manifest of an earlier version has no checksum. So has one from which somebody has removed it, as the error says.
func TestManifestsWithoutAChecksum(t *testing.T) {
	good, err := encodeManifest(manifest())
	require.NoError(t, err)
	d, err := Create(filepath.Join(t.TempDir(), "run"))
	require.NoError(t, err)
	changed := bytes.Replace(good, []byte("ping-pong"), []byte("pong-ping"), 1)
	write := func(b []byte) { require.NoError(t, os.WriteFile(d.File(manifestFile), b, 0o600)) }
	write(changed)
	_, err = d.Manifest()
	require.ErrorContains(t, err, `its checksum is wrong, so it was changed after it was written`)
	var lines []string
	for line := range strings.Lines(string(changed)) {
		if !strings.Contains(line, `"checksum"`) {
			lines = append(lines, line)
		}
	}
	write([]byte(strings.Join(lines, "")))
	m, checked, err := d.CheckManifest()
	require.NoError(t, err)
	require.False(t, checked)
	require.Equal(t, "pong-ping", m.Scenario)
	write([]byte(`{"chacksum": "00000000", "scenario": "x"}`))
	_, err = d.Manifest()
	require.ErrorContains(t, err, "a member that only newer manifests have")
}

// The same of an index.
func TestEveryFlippedBitOfAnIndexIsFound(t *testing.T) {
	r := NewReader(bytes.NewReader(write(t, story()...)), nil)
	x, _, err := buildIndex(r, []string{"a", "b"})
	require.NoError(t, err)
	good := x.append(nil)
	_, err = parseIndex(good)
	require.NoError(t, err)
	for i := range good {
		for bit := range 8 {
			damaged := bytes.Clone(good)
			damaged[i] ^= 1 << bit
			_, err := parseIndex(damaged)
			require.ErrorIs(t, err, errNoIndex, "byte %d, bit %d", i, bit)
		}
		_, err := parseIndex(good[:i])
		require.Error(t, err, "cut at %d", i)
	}
}
