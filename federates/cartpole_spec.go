package federates

import (
	"fmt"

	"metasim/metasim"
)

func plantSpec() Spec {
	return Spec{
		Name: "cartpole-plant",
		Doc:  "a cart with a pole on it, integrated in fixed steps; measured with noise, pushed by a force",
		Params: []Param{
			{Name: "out", Type: Channel, Default: "CARTPOLE_SENSORS", Doc: "where it publishes measurements"},
			{Name: "in", Type: Pattern, Default: "CARTPOLE_FORCE", Doc: "where the force comes from"},
			{Name: "period", Type: Duration, Default: "1ms", Min: new(1e3), Max: new(1e7),
				Doc: "the step of the integration"},
			{Name: "sample", Type: Duration, Default: "5ms", Min: new(1e3), Max: new(1e9),
				Doc: "from one measurement to the next; a multiple of period"},
			{Name: "angle", Type: Float, Default: 5.0, Min: new(-80.0), Max: new(80.0),
				Doc: "tilt of the pole at the start, in degrees"},
			{Name: "noise", Type: Float, Default: 1.0, Min: new(0.0), Max: new(1000.0),
				Doc: "scales the sensors' noise: 1 is 1 mm and 0.1 degrees of standard deviation"},
		},
		ports: plantPorts,
		build: func(v values, env Env, _ Ports) Model {
			return &plant{
				wires: newWires(v), period: get[metasim.Time](v, "period"), sample: get[metasim.Time](v, "sample"),
				angle: get[float64](v, "angle"), noise: get[float64](v, "noise"), env: env,
			}
		},
	}
}

func plantPorts(v values, env Env) (Ports, error) {
	period, sample := get[metasim.Time](v, "period"), get[metasim.Time](v, "sample")
	if sample%period != 0 {
		return Ports{}, ParamErrors{{Model: "cartpole-plant", Param: "sample",
			Wrong:  fmt.Sprintf("is %v, no multiple of the period of %v", sample, period),
			Remedy: fmt.Sprintf("write %v", max(period, sample-sample%period))}}
	}
	return inOut(func(values) Ending { return Endless })(v, env)
}

func estimatorSpec() Spec {
	return Spec{
		Name: "cartpole-estimator",
		Doc:  "estimates the cart-pole's state from late, lost and noisy measurements",
		Params: []Param{
			{Name: "in", Type: Pattern, Default: "CARTPOLE_SENSORS", Doc: "where measurements come from"},
			{Name: "out", Type: Channel, Default: "CARTPOLE_STATE", Doc: "where it publishes estimates"},
		},
		ports: inOut(func(values) Ending { return Reacts }),
		build: func(v values, _ Env, _ Ports) Model { return &estimator{wires: newWires(v)} },
	}
}

func controllerSpec() Spec {
	return Spec{
		Name: "cartpole-controller",
		Doc:  "pushes the cart so that the pole stands, by linear state feedback",
		Params: []Param{
			{Name: "in", Type: Pattern, Default: "CARTPOLE_STATE", Doc: "where estimates come from"},
			{Name: "out", Type: Channel, Default: "CARTPOLE_FORCE", Doc: "where it publishes the force"},
			{Name: "period", Type: Duration, Default: "10ms", Min: new(1e3), Max: new(1e9),
				Doc: "from one force to the next"},
			{Name: "limit", Type: Float, Default: 20.0, Min: new(0.0), Max: new(1e6),
				Doc: "the greatest force, in newtons"},
		},
		ports: inOut(func(values) Ending { return Endless }),
		build: func(v values, _ Env, _ Ports) Model {
			return &controller{
				wires: newWires(v), period: get[metasim.Time](v, "period"), limit: get[float64](v, "limit"),
			}
		},
	}
}
