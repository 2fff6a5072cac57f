package federates

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"metasim/client"
	"metasim/federates/cartpole"
	"metasim/metasim"
)

// degrees is how many there are in a radian.
const degrees = 180 / math.Pi

// plant is the model cartpole-plant. When the pole has fallen it goes on, so that one can watch the others try.
type plant struct {
	wires
	period, sample metasim.Time
	angle          float64 // degrees
	noise          float64
	env            Env
}

// plantResult is what became of the pole.
type plantResult struct {
	Stood    bool     `json:"stood"`
	MaxAngle float64  `json:"max_angle_deg"`
	FellAt   *float64 `json:"fell_at_s"` // null for a pole that stood
}

func (m *plant) Run(ctx context.Context, c *client.Client) error {
	state := cartpole.State{Angle: m.angle / degrees}
	result := plantResult{Stood: true, MaxAngle: math.Abs(m.angle)}
	command := cartpole.Command{Time: -1}
	noise := noiseOf(m.env)
	for t := metasim.Time(0); ; t = t.Add(m.period) {
		messages, err := c.Step(ctx, t)
		if errors.Is(err, client.ErrEnd) {
			break
		}
		if err != nil {
			return err
		}
		if command, err = newestCommand(command, messages); err != nil {
			return err
		}
		if t%m.sample == 0 {
			measured := cartpole.Measure(t, state, command.Force, m.noise, noise)
			if err := m.pub.Publish(measured.Encode()); err != nil {
				return err
			}
		}
		state = state.Step(command.Force, float64(m.period)/1e9)
		result.watch(state, t.Add(m.period))
	}
	return finish(ctx, c, result)
}

// newest returns the last of what was said, by its own time: what was overtaken on the way does not count.
func newest[T any](last T, messages []client.Message, decode func([]byte) (T, error), time func(T) metasim.Time) (T, error) {
	for _, msg := range messages {
		next, err := decode(msg.Payload)
		if err != nil {
			return last, fmt.Errorf("federates: from client %q: %w", msg.From, err)
		}
		if time(next) > time(last) {
			last = next
		}
	}
	return last, nil
}

func newestCommand(last cartpole.Command, messages []client.Message) (cartpole.Command, error) {
	return newest(last, messages, cartpole.DecodeCommand, func(c cartpole.Command) metasim.Time { return c.Time })
}

func newestEstimate(last cartpole.Estimate, messages []client.Message) (cartpole.Estimate, error) {
	return newest(last, messages, cartpole.DecodeEstimate, func(e cartpole.Estimate) metasim.Time { return e.Time })
}

// watch notes the state at time t.
func (r *plantResult) watch(s cartpole.State, t metasim.Time) {
	r.MaxAngle = max(r.MaxAngle, math.Abs(s.Angle)*degrees)
	if r.Stood && s.Fallen() {
		r.Stood, r.FellAt = false, new(t.Seconds())
	}
}

// noiseOf is the stream of a plant's noise, keyed by the run's seed and the client's name.
func noiseOf(env Env) *rand.PCG {
	key := binary.LittleEndian.AppendUint64([]byte("cartpole"), env.Seed)
	sum := sha256.Sum256(append(key, env.Name...))
	return rand.NewPCG(binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:]))
}

// estimator is the model cartpole-estimator. It answers each measurement that is news with an estimate.
type estimator struct{ wires }

func (m *estimator) Run(ctx context.Context, c *client.Client) error {
	var state cartpole.Estimator
	var result struct {
		Measurements uint64 `json:"measurements"`
		Late         uint64 `json:"late"` // overtaken by another, or a duplicate
	}
	err := receive(ctx, c, func(msg client.Message) error {
		measured, err := cartpole.DecodeMeasurement(msg.Payload)
		if err != nil {
			return fmt.Errorf("federates: from client %q: %w", msg.From, err)
		}
		result.Measurements++
		estimate, fresh := state.Observe(measured)
		if !fresh {
			result.Late++
			return nil
		}
		return m.pub.Publish(estimate.Encode())
	})
	if err != nil {
		return err
	}
	return finish(ctx, c, result)
}

// controller is the model cartpole-controller. It asks for nothing before it has heard of the plant.
type controller struct {
	wires
	period metasim.Time
	limit  float64 // N
}

func (m *controller) Run(ctx context.Context, c *client.Client) error {
	latest := cartpole.Estimate{Time: -1}
	var result struct {
		Commands uint64 `json:"commands"`
	}
	for t := metasim.Time(0); ; t = t.Add(m.period) {
		messages, err := c.Step(ctx, t)
		if errors.Is(err, client.ErrEnd) {
			break
		}
		if err != nil {
			return err
		}
		if latest, err = newestEstimate(latest, messages); err != nil {
			return err
		}
		if latest.Time < 0 {
			continue
		}
		command := cartpole.Command{Time: t, Force: cartpole.Push(latest.State, m.limit)}
		if err := m.pub.Publish(command.Encode()); err != nil {
			return err
		}
		result.Commands++
	}
	return finish(ctx, c, result)
}
