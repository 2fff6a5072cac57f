package cartpole

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
