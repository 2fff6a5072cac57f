package federates

func ringSpec() Spec {
	return Spec{
		Name: "ring",
		Doc:  "passes each message on, unchanged, at the instant at which it was received",
		Params: []Param{
			{Name: "in", Type: Pattern, Required: true, Doc: "what it receives"},
			{Name: "out", Type: Channel, Required: true, Doc: "where it publishes"},
			{Name: "first", Type: Bool, Default: false,
				Doc: "whether it starts the ring with a message of its own at the start"},
			sizeParam(),
		},
		// A ring that is closed goes round for ever, and a ring is there to be closed.
		ports: inOut(func(v values) Ending {
			if get[bool](v, "first") {
				return Endless
			}
			return Reacts
		}),
	}
}
