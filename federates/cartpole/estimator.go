package cartpole

import "metasim/metasim"

// Standard deviations of the sensors at noise 1, which the estimator is tuned for.
const (
	positionNoise = 0.001             // m
	angleNoise    = 0.1 * degree      // rad
	degree        = 0.017453292519943 // rad
)

// The estimator's gains: what a metre, and a radian, between measured and expected moves each part of the state. They
// are those of the steady-state Kalman filter for a measurement every 5 ms and the noise that kalman in the tests
// names.
var (
	positionGain = plantState{X: 0.163246224, V: 2.8926751, Angle: -0.000125231085, Rate: 0.000300140872}
	angleGain    = plantState{X: -4.11109402e-05, V: -0.00328724515, Angle: 0.175250342, Rate: 3.36371103}
)

// An estimator follows the plant by its measurements. The zero value waits for the first one.
type estimator struct {
	last  Measurement
	state plantState
	begun bool
}

const (
	// substep is the longest step that the estimator takes at once.
	substep = metasim.Millisecond
	// silence is how long a gap may be that the estimator bridges; after a longer one it begins anew.
	silence = metasim.Second
)

// Observe takes in a measurement and returns the state that the plant probably had when it was made. A measurement
// that is older than what was observed already is of no use: it returns false.
func (e *estimator) Observe(m Measurement) (estimate, bool) {
	switch {
	case e.begun && m.Time <= e.last.Time:
		return estimate{}, false
	case !e.begun || m.Time-e.last.Time > silence:
		e.begun, e.state = true, plantState{X: m.X, Angle: m.Angle}
	default:
		e.predict(m.Time)
		e.correct(m)
	}
	e.last = m
	return estimate{Time: m.Time, State: e.state}, true
}

// predict runs the plant to time t under the force last measured: across lost measurements it is the best there is.
func (e *estimator) predict(t metasim.Time) {
	for at := e.last.Time; at < t; at += substep {
		h := min(substep, t-at)
		e.state = e.state.Step(e.last.Force, float64(h)/1e9)
	}
}

func (e *estimator) correct(m Measurement) {
	e.state = e.state.along(positionGain, m.X-e.state.X)
	e.state = e.state.along(angleGain, m.Angle-e.state.Angle)
}
