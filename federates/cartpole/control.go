package cartpole

import (
	"metasim/metasim"
)

// The estimator's gains: how far each part of the state is corrected for a metre, and for a radian, between measured and
// expected. They are those of the steady-state Kalman filter for a measurement every 5 ms and the noise in the test kalman.
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
	// maxGap is the longest time between measurements that the estimator predicts; after a longer one it begins anew.
	maxGap = metasim.Second
)

// Observe returns the state that the plant probably had when a measurement was made. It returns false for a measurement that
// is not newer than the last one.
func (e *estimator) Observe(m Measurement) (estimate, bool) {
	switch {
	case e.begun && m.Time <= e.last.Time:
		return estimate{}, false
	case !e.begun || m.Time-e.last.Time > maxGap:
		e.begun, e.state = true, plantState{X: m.X, Angle: m.Angle}
	default:
		e.predict(m.Time)
		e.correct(m)
	}
	e.last = m
	return estimate{Time: m.Time, State: e.state}, true
}

// predict advances the state to time t under the force last measured: the best guess where measurements were lost.
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

// The controller's gains, in newtons for each unit of the state: the discrete linear-quadratic regulator at 100 Hz for
// the weights in the test lqr.
var feedback = plantState{X: 4.13551399, V: 7.75462354, Angle: 61.829526, Rate: 15.3610756}

// push returns the force that brings the plant back to the middle with its pole upright, at most limit newtons either
// way.
func push(s plantState, limit float64) float64 {
	force := float64(feedback.X*s.X) + float64(feedback.V*s.V) +
		float64(feedback.Angle*s.Angle) + float64(feedback.Rate*s.Rate)
	return max(-limit, min(limit, force))
}
