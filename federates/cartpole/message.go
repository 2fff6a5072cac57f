package cartpole

import (
	"encoding/binary"
	"fmt"
	"math"

	"metasim/metasim"
)

// A message is one of the three. Its fields, in their order, are its payload.
type message interface {
	Measurement | estimate | command
	at() metasim.Time
}

func (m Measurement) at() metasim.Time { return m.Time }
func (e estimate) at() metasim.Time    { return e.Time }
func (c command) at() metasim.Time     { return c.Time }

// DecodeMeasurement reads a payload. It fails on one of another length, on a time before the
// start, and on numbers that are not finite.
func DecodeMeasurement(payload []byte) (Measurement, error) {
	return decode[Measurement]("measurement", payload)
}

// encode returns the payload.
func encode[M message](m M) []byte {
	b, _ := binary.Append(nil, binary.LittleEndian, m) // a message is of fixed size, so there is no error
	return b
}

// decode reads a payload, and fails as DecodeMeasurement does.
func decode[M message](what string, payload []byte) (m M, err error) {
	if _, err := binary.Decode(payload, binary.LittleEndian, &m); err != nil || len(payload) != binary.Size(m) {
		return m, fmt.Errorf("a %s of %d bytes; it has %d: check what is published on the channel",
			what, len(payload), binary.Size(m))
	}
	for i := 8; i < len(payload); i += 8 {
		x := math.Float64frombits(binary.LittleEndian.Uint64(payload[i:]))
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return m, fmt.Errorf("a %s with a number that is not finite; check the client that publishes it", what)
		}
	}
	if m.at() < 0 {
		return m, fmt.Errorf("%s of %v, before the start; check the client that publishes it", what, m.at())
	}
	return m, nil
}
