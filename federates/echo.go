package federates

func echoSpec() Spec {
	return Spec{
		Name: "echo",
		Doc:  "publishes each payload again, at the instant at which it was received",
		Params: []Param{
			{Name: "in", Type: Pattern, Required: true, Doc: "what it receives"},
			{Name: "out", Type: Channel, Required: true, Doc: "where it publishes"},
		},
		ports: inOut(func(values) Ending { return Reacts }),
	}
}

// inOut is the ports of a model with one channel in and one out.
func inOut(ending func(values) Ending) func(values, Env) (Ports, error) {
	return func(v values, _ Env) (Ports, error) {
		return Ports{
			Publications:  []string{get[string](v, "out")},
			Subscriptions: []string{get[string](v, "in")},
			Ending:        ending(v),
		}, nil
	}
}
