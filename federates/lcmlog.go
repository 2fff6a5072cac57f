package federates

func lcmlogSpec() Spec {
	return Spec{
		Name: "lcmlog",
		Doc:  "publishes the events of an LCM event log at their recorded times, counted from the first",
		Params: []Param{
			{Name: "file", Type: File, Required: true, Doc: "the log"},
			{Name: "speed", Type: Float, Default: 1.0, Min: new(1e-6), Max: new(1e6),
				Doc: "recorded times are divided by it"},
		},
		ports: func(v values, env Env) (Ports, error) {
			channels, err := logChannels(get[string](v, "file"), env)
			return Ports{Publications: channels, Ending: Leaves}, err
		},
	}
}

// logChannels reads a log once, for the names of the channels in it.
func logChannels(string, Env) ([]string, error) { return nil, nil }
