package federates

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"metasim/client"
	"metasim/lcm"
	"metasim/metasim"
)

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
		build: func(v values, env Env, ports Ports) Model {
			return &lcmlog{
				file: get[string](v, "file"), speed: get[float64](v, "speed"), env: env, channels: ports.Publications,
			}
		},
	}
}

// lcmlog is the model of that name. It reads the log twice, once for the channels in it, and keeps none of it.
type lcmlog struct {
	file     string
	speed    float64
	env      Env
	channels []string
	pubs     map[string]*client.Publication
}

func (m *lcmlog) Declare(b *client.Builder) error {
	m.pubs = map[string]*client.Publication{}
	for _, channel := range m.channels {
		m.pubs[channel] = b.Publication(channel)
	}
	return nil
}

func (m *lcmlog) Run(ctx context.Context, c *client.Client) error {
	var result struct {
		Published uint64 `json:"published"`
		Skipped   int64  `json:"skipped_bytes"`
	}
	var clock lcm.Clock
	skipped, err := readLog(m.file, m.env, func(e lcm.Event) error {
		elapsed, _ := clock.Elapsed(e.Time) // an event stamped before its forerunner goes out with it
		if _, err := c.Step(ctx, scaled(elapsed, m.speed)); err != nil {
			return err
		}
		pub := m.pubs[e.Channel]
		if pub == nil {
			return fmt.Errorf("federates: %s: channel %q was not there when the run began; "+
				"leave the log alone while it runs", m.file, e.Channel)
		}
		result.Published++
		return pub.Publish(e.Payload)
	})
	if err != nil && !errors.Is(err, client.ErrEnd) {
		return err
	}
	result.Skipped = skipped
	return finish(ctx, c, result)
}

// scaled returns t / speed, to the nearest nanosecond.
func scaled(t metasim.Time, speed float64) metasim.Time {
	if speed == 1 || t == metasim.Forever {
		return t // a float64 would round times above 104 days
	}
	x := math.Round(float64(t) / speed)
	if x >= math.MaxInt64 {
		return metasim.Forever
	}
	return metasim.Time(x)
}

// logChannels reads a log for the names of the channels in it, in order.
func logChannels(file string, env Env) ([]string, error) {
	seen := map[string]bool{}
	_, err := readLog(file, env, func(e lcm.Event) error {
		seen[e.Channel] = true
		return nil
	})
	if err != nil {
		return nil, fileError(file, "cannot be read: "+err.Error(), err)
	}
	if len(seen) == 0 {
		return nil, fileError(file, "holds no event of an LCM log", nil)
	}
	return slices.Sorted(maps.Keys(seen)), nil
}

func fileError(file, wrong string, err error) error {
	return ParamErrors{{Model: "lcmlog", Param: "file", Wrong: fmt.Sprintf("is %q, which %s", file, wrong),
		Remedy: "name a log that lcm-logger wrote, relative to the scenario's directory", Err: err}}
}

// readLog calls each for every event of a log, and returns how many bytes of it are no whole event.
func readLog(file string, env Env, each func(lcm.Event) error) (skipped int64, err error) {
	if env.Open == nil {
		return 0, errors.New("no files are open to this client")
	}
	f, err := env.Open(file)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	r := lcm.NewReader(f)
	for {
		e, err := r.Next()
		var torn *lcm.TornError
		switch {
		case errors.As(err, &torn):
			skipped += torn.Have
			continue
		case errors.Is(err, io.EOF):
			return skipped + r.Skipped(), nil
		case err != nil:
			return 0, err
		}
		if err := each(e); err != nil {
			return skipped + r.Skipped(), err
		}
	}
}
