package journal

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
)

// The file of a manifest is JSON whose first member is a checksum, on a line of its own: the CRC-32C of all that follows that line. It comes
// first so that whoever removes the line still has JSON, which is read like the manifest of a version that wrote no checksum.
const (
	checksumBegin = "{\n  \"checksum\": \""
	checksumEnd   = "\",\n"
	checksumSize  = len(checksumBegin) + 8 + len(checksumEnd)
)

// errChecksum tells that a manifest is not as it was written.
var errChecksum = errors.New("its checksum is wrong, so it was changed after it was written; take it from a copy, " +
	`or remove its line "checksum" to have it read as it is`)

// encodeManifest returns the file of a manifest.
func encodeManifest(m *Manifest) ([]byte, error) {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	rest := append(b[len("{\n"):], '\n')
	return append([]byte(checksumLines(rest)), rest...), nil
}

// checksumLines returns the beginning of a file with this rest.
func checksumLines(rest []byte) string {
	return fmt.Sprintf("%s%08x%s", checksumBegin, crc32.Checksum(rest, castagnoli), checksumEnd)
}

// decodeManifest reads the file of a manifest. checked is false where it has no checksum. Then it must have no member that this version does not
// know, as the checksum has it in its name: so a bit that is wrong there is found too.
func decodeManifest(b []byte) (m *Manifest, checked bool, err error) {
	var file struct {
		Checksum *string `json:"checksum"`
		Manifest
	}
	if err := json.Unmarshal(b, &file); err != nil {
		if wrong := new(json.UnmarshalTypeError); errors.As(err, &wrong) { // without the names of our own types
			err = fmt.Errorf("%s is a JSON %s", cmp.Or(strings.TrimPrefix(wrong.Field, "Manifest."), "it"), wrong.Value)
		}
		return nil, false, err
	}
	if file.Checksum == nil {
		d := json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields()
		if err := d.Decode(new(Manifest)); err != nil && !errors.Is(err, io.EOF) {
			return nil, false, fmt.Errorf("it has no checksum, and a member that only newer manifests have (%w); it was changed after it was written: take it from a copy", err)
		}
		return &file.Manifest, false, nil
	}
	if len(b) < checksumSize || string(b[:checksumSize]) != checksumLines(b[checksumSize:]) {
		return nil, false, errChecksum
	}
	return &file.Manifest, true, nil
}
