package cartpole

import (
	"encoding/hex"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

func TestPayloads(t *testing.T) {
	m := Measurement{Time: 5 * ms, X: 1, Angle: -2, Force: 0.5}
	bytes := "404b4c0000000000" + "000000000000f03f" + "00000000000000c0" + "000000000000e03f"
	assert.Equal(t, bytes, hex.EncodeToString(encode(m)))
	gotM, err := DecodeMeasurement(encode(m))
	require.NoError(t, err)
	assert.Equal(t, m, gotM)

	e := estimate{Time: 7, State: plantState{X: 1, V: 2, Angle: 3, Rate: 4}}
	assert.Len(t, encode(e), 40)
	gotE, err := decode[estimate]("estimate", encode(e))
	require.NoError(t, err)
	assert.Equal(t, e, gotE)

	c := command{Time: 9, Force: -20}
	assert.Len(t, encode(c), 16)
	gotC, err := decode[command]("command", encode(c))
	require.NoError(t, err)
	assert.Equal(t, c, gotC)
}

func TestBadPayloads(t *testing.T) {
	_, err := decode[command]("command", make([]byte, 8))
	assert.EqualError(t, err, "a command of 8 bytes; it has 16: check what is published on the channel")
	_, err = DecodeMeasurement(encode(Measurement{X: math.NaN()}))
	assert.EqualError(t, err, "a measurement with a number that is not finite; check the client that publishes it")
	_, err = decode[estimate]("estimate", encode(estimate{Time: -metasim.Second}))
	assert.EqualError(t, err, "estimate of -1s, before the start; check the client that publishes it")
}

func FuzzMeasurement(f *testing.F) {
	f.Add(encode(Measurement{Time: 1, X: 2, Angle: 3, Force: 4}), encode(Measurement{Time: 2, X: 2, Angle: 3}))
	f.Add([]byte{}, make([]byte, 32))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var e estimator
		for _, payload := range [][]byte{first, second} {
			m, err := DecodeMeasurement(payload)
			if err != nil {
				continue
			}
			assert.Equal(t, payload, encode(m))
			if got, ok := e.Observe(m); ok {
				assert.Equal(t, m.Time, got.Time)
			}
		}
	})
}

func TestEstimator(t *testing.T) {
	t.Run("finds what is not measured", func(t *testing.T) {
		var e estimator
		s := plantState{X: 0.5, V: 0.3, Angle: 0.05, Rate: -0.1}
		var got estimate
		for now := metasim.Time(0); now < 400*ms; now += ms {
			if now%(5*ms) == 0 {
				got, _ = e.Observe(Measurement{Time: now, X: s.X, Angle: s.Angle, Force: 1})
				if now == 395*ms {
					assert.InDeltaSlice(t, s.list(), got.State.list(), 0.005)
				}
			}
			s = s.Step(1, 1e-3)
		}
	})
	t.Run("ignores what comes late", func(t *testing.T) {
		var e estimator
		_, ok := e.Observe(Measurement{Time: 10 * ms})
		assert.True(t, ok)
		_, ok = e.Observe(Measurement{Time: 5 * ms})
		assert.False(t, ok)
		_, ok = e.Observe(Measurement{Time: 10 * ms})
		assert.False(t, ok, "a duplicate")
	})
	t.Run("bridges a gap, but not for ever", func(t *testing.T) {
		var e estimator
		e.Observe(Measurement{Angle: 0.1})
		got, _ := e.Observe(Measurement{Time: metasim.Second, Angle: 0.1})
		assert.NotZero(t, got.State.Rate)
		got, _ = e.Observe(Measurement{Time: metasim.Forever, Angle: 0.1})
		assert.Equal(t, plantState{Angle: 0.1}, got.State)
	})
}
