package federates

func pingSpec() Spec {
	return Spec{
		Name: "ping",
		Doc:  "publishes a counter, and the next one at each answer, until it has had all its answers",
		Params: []Param{
			{Name: "out", Type: Channel, Required: true, Doc: "where it publishes"},
			{Name: "in", Type: Pattern, Required: true, Doc: "where the answers come"},
			{Name: "rounds", Type: Int, Required: true, Min: new(1.0),
				Doc: "how many answers; at the last one it leaves"},
			sizeParam(),
		},
		ports: inOut(func(values) Ending { return Leaves }),
	}
}
