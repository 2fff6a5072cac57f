package cartpole

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"metasim/client"
	"metasim/federates/catalog"
	"metasim/federates/loop"
	"metasim/metasim"
)

// degreesPerRadian converts the angles in parameters and results.
const degreesPerRadian = 180 / math.Pi

// plantResult says whether the pole stood.
type plantResult struct {
	Stood    bool     `json:"stood"`
	MaxAngle float64  `json:"max_angle_deg"`
	FellAt   *float64 `json:"fell_at_s"` // null for a pole that stood
}

// Plant is the model cartpole-plant. It goes on when the pole has fallen, so that the other clients can be watched.
func Plant(ctx context.Context, c *client.Client, in *catalog.Instance, out []*client.Publication) error {
	period, sample := catalog.Get[metasim.Time](in, "period"), catalog.Get[metasim.Time](in, "sample")
	angle := catalog.Get[float64](in, "angle") // at the start, in degrees
	scale := catalog.Get[float64](in, "noise")
	state := plantState{Angle: angle / degreesPerRadian}
	result := plantResult{Stood: true, MaxAngle: math.Abs(angle)}
	latest := command{Time: -1}
	noise := noiseOf(in.Env)
	return loop.Every(ctx, c, 0, period, &result, func(t metasim.Time, messages []client.Message) (err error) {
		if latest, err = newest("command", latest, messages); err != nil {
			return err
		}
		if t%sample == 0 {
			measured := measure(t, state, latest.Force, scale, noise)
			if err := out[0].PublishOwned(encode(measured)); err != nil {
				return err
			}
		}
		state = state.Step(latest.Force, float64(period)/1e9)
		result.watch(state, t.Add(period))
		return nil
	})
}

// newest returns the message with the latest time of its own, last among them. A message that another one has overtaken does
// not count.
func newest[M message](what string, last M, messages []client.Message) (M, error) {
	for _, msg := range messages {
		next, err := decode[M](what, msg.Payload)
		if err != nil {
			return last, fmt.Errorf("from client %q: %w", msg.From, err)
		}
		if next.at() > last.at() {
			last = next
		}
	}
	return last, nil
}

// watch updates the result with the state at time t.
func (r *plantResult) watch(s plantState, t metasim.Time) {
	r.MaxAngle = max(r.MaxAngle, math.Abs(s.Angle)*degreesPerRadian)
	if r.Stood && s.Fallen() {
		r.Stood, r.FellAt = false, new(t.Seconds())
	}
}

// noiseOf returns the random stream of a plant's noise, keyed by the run's seed and the client's name.
func noiseOf(env catalog.Env) *rand.PCG {
	key := binary.LittleEndian.AppendUint64([]byte("cartpole"), env.Seed)
	sum := sha256.Sum256(append(key, env.Key()...))
	return rand.NewPCG(binary.LittleEndian.Uint64(sum[:]), binary.LittleEndian.Uint64(sum[8:]))
}

// Estimator is the model cartpole-estimator. It answers each measurement that is newer than the last with an estimate.
func Estimator(ctx context.Context, c *client.Client, _ *catalog.Instance, out []*client.Publication) error {
	var state estimator
	var result struct {
		Measurements uint64 `json:"measurements"`
		Late         uint64 `json:"late"` // overtaken by another, or a duplicate
	}
	return loop.Receive(ctx, c, &result, func(msg client.Message) error {
		measured, err := DecodeMeasurement(msg.Payload)
		if err != nil {
			return fmt.Errorf("from client %q: %w", msg.From, err)
		}
		result.Measurements++
		estimate, fresh := state.Observe(measured)
		if !fresh {
			result.Late++
			return nil
		}
		return out[0].PublishOwned(encode(estimate))
	})
}

// Controller is the model cartpole-controller. It publishes no command before the first estimate.
func Controller(ctx context.Context, c *client.Client, in *catalog.Instance, out []*client.Publication) error {
	period, limit := catalog.Get[metasim.Time](in, "period"), catalog.Get[float64](in, "limit")
	latest := estimate{Time: -1}
	var result struct {
		Commands uint64 `json:"commands"`
	}
	return loop.Every(ctx, c, 0, period, &result, func(t metasim.Time, messages []client.Message) (err error) {
		if latest, err = newest("estimate", latest, messages); err != nil || latest.Time < 0 {
			return err
		}
		result.Commands++
		return out[0].PublishOwned(encode(command{Time: t, Force: push(latest.State, limit)}))
	})
}
