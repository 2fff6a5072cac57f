// Package cartpole is the cart-pole demo: a cart with a pole hinged on it, an estimator and a controller. The clients are in
// clients.go; everything else computes, and knows no client.
//
// The plant is that of Barto, Sutton and Anderson, "Neuronlike adaptive elements that can solve difficult learning
// control problems" (IEEE SMC-13, 1983), without friction. With cart position x, pole angle a (0 upright, positive
// towards positive x), force F on the cart, cart mass M, pole mass m and half the pole's length l:
//
//	u   = (F + m l a'^2 sin a) / (M + m)
//	a'' = (g sin a - u cos a) / (l (4/3 - m cos^2 a / (M + m)))
//	x'' = u - m l a'' cos a / (M + m)
//
// The estimator runs the same plant from measurement to measurement and corrects it by fixed gains, those of the
// steady-state Kalman filter of the linearized plant; the controller is a linear-quadratic regulator. A test solves
// both Riccati equations again and compares the gains.
//
// The same bits come out on every processor. Go may fuse x*y+z into one rounding where the processor can, and does so
// inside math.Sin as well; an explicit conversion, float64(x*y)+z, forbids it. So every product that is added to
// something is converted here, and sine and cosine are computed here. A test looks for fused instructions in the
// machine code for arm64.
//
// The caller's duties: units are metres, radians, newtons and seconds; Step is called with steps of a few
// milliseconds.
package cartpole

import "metasim/metasim"

// A plantState is position and speed of the cart, angle and rate of the pole.
type plantState struct {
	X     float64 // m
	V     float64 // m/s
	Angle float64 // rad; 0 is upright, positive leans towards positive X
	Rate  float64 // rad/s
}

// The three messages of the demo. On the wire each is a time in nanoseconds (i64) and then float64s, all
// little-endian; the time tells how old a message is, and whether a later one has overtaken it.

// A Measurement is the output of the plant's sensors: 32 bytes, time, X, Angle, Force.
type Measurement struct {
	Time  metasim.Time
	X     float64 // m, with noise
	Angle float64 // rad, with noise
	Force float64 // N, on the cart from now on
}

// An estimate is the probable state of the plant at Time: 40 bytes, time, X, V, Angle, Rate.
type estimate struct {
	Time  metasim.Time
	State plantState
}

// A command is a force that the controller asks for at Time: 16 bytes, time, force.
type command struct {
	Time  metasim.Time
	Force float64 // N
}
