package seal

import "encoding/binary"

// Bounds of a message of several payloads.
const (
	maxTogether   = 4096      // payloads
	togetherBytes = 512 << 10 // of them; so it opens with the default of Limits.Bytes
)

// lengthBytes is of the length before each payload of several, big-endian.
const lengthBytes = 4

// join writes payloads, each after its length, in so many bytes.
func join(payloads [][]byte, size int) []byte {
	b := make([]byte, 0, size)
	for _, p := range payloads {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(p))), p...)
	}
	return b
}

// split reads so many payloads, and nothing else.
func (l Link) split(plain []byte, number int) ([][]byte, error) {
	all := make([][]byte, 0, number)
	for len(plain) >= lengthBytes && len(all) < number {
		n := binary.BigEndian.Uint32(plain)
		if plain = plain[lengthBytes:]; n == 0 || uint64(n) > uint64(len(plain)) {
			break
		}
		all, plain = append(all, plain[:n:n]), plain[n:]
	}
	if len(all) != number || len(plain) > 0 {
		return nil, l.refuse(Malformed, "it says that it has %d payloads, and %d are there, with %d bytes left; put the length before each, in %d bytes", number, len(all), len(plain), lengthBytes)
	}
	return all, nil
}
