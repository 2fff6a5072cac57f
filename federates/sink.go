package federates

func sinkSpec() Spec {
	return Spec{
		Name: "sink",
		Doc:  "receives and counts",
		Params: []Param{
			{Name: "channels", Type: Patterns, Required: true, Min: new(1.0),
				Doc: "what it receives: each a channel name, or a regular expression that matches the whole name"},
		},
		ports: func(v values, _ Env) (Ports, error) {
			return Ports{Subscriptions: get[[]string](v, "channels"), Ending: Reacts}, nil
		},
	}
}
