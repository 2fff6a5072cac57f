package cartpole

import (
	"encoding/binary"
	"fmt"
	"math"

	"metasim/metasim"
)

// Encode returns the payload.
func (m Measurement) Encode() []byte { return encode(m.Time, m.X, m.Angle, m.Force) }

// Encode returns the payload.
func (e estimate) Encode() []byte {
	return encode(e.Time, e.State.X, e.State.V, e.State.Angle, e.State.Rate)
}

// Encode returns the payload.
func (c command) Encode() []byte { return encode(c.Time, c.Force) }

// DecodeMeasurement reads a payload. It fails on one of another length, on a time before the
// start, and on numbers that are not finite.
func DecodeMeasurement(payload []byte) (m Measurement, err error) {
	m.Time, err = decode("measurement", payload, &m.X, &m.Angle, &m.Force)
	return m, err
}

// decodeEstimate reads a payload. It fails as DecodeMeasurement does.
func decodeEstimate(payload []byte) (e estimate, err error) {
	e.Time, err = decode("estimate", payload, &e.State.X, &e.State.V, &e.State.Angle, &e.State.Rate)
	return e, err
}

// decodeCommand reads a payload. It fails as DecodeMeasurement does.
func decodeCommand(payload []byte) (c command, err error) {
	c.Time, err = decode("command", payload, &c.Force)
	return c, err
}

func encode(t metasim.Time, numbers ...float64) []byte {
	b := make([]byte, 0, 8+8*len(numbers))
	b = binary.LittleEndian.AppendUint64(b, uint64(t))
	for _, x := range numbers {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

func decode(what string, payload []byte, numbers ...*float64) (metasim.Time, error) {
	if want := 8 + 8*len(numbers); len(payload) != want {
		return 0, fmt.Errorf("a %s of %d bytes; it has %d: check what is published on the channel",
			what, len(payload), want)
	}
	for i, x := range numbers {
		*x = math.Float64frombits(binary.LittleEndian.Uint64(payload[8+8*i:]))
		if math.IsNaN(*x) || math.IsInf(*x, 0) {
			return 0, fmt.Errorf("a %s with a number that is not finite; check the client that publishes it", what)
		}
	}
	t := metasim.Time(binary.LittleEndian.Uint64(payload))
	if t < 0 {
		return 0, fmt.Errorf("%s of %v, before the start; check the client that publishes it", what, t)
	}
	return t, nil
}
