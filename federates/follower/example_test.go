package follower_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/client/clienttest"
	"metasim/federates/follower"
	"metasim/metasim"
)

// A World is what an engine shows: here, how much time has passed in it.
type World struct {
	age    metasim.Time
	shown  int
	resets int
}

// Begin begins the world again, where a frame says so.
func (w *World) Begin(again bool) {
	if again {
		w.age = 0
		w.resets++
	}
}

// Step lets time pass, and returns the state.
func (w *World) Step(dt metasim.Time) []byte {
	w.age = w.age.Add(dt)
	return w.State()
}

// State returns the state.
func (w *World) State() []byte { return binary.LittleEndian.AppendUint64(nil, uint64(w.age)) }

// Set makes the state that of another node.
func (w *World) Set(state []byte) { w.age = metasim.Time(binary.LittleEndian.Uint64(state)) }

// Render draws the world.
func (w *World) Render() []byte {
	w.shown++
	return nil
}

// An engine of your own, whole: it takes part in a cluster whose director is named director.
func ExampleDeclare() {
	if err := engine(context.Background(), new(World)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func engine(ctx context.Context, world *World, options ...client.Option) error {
	b := client.NewBuilder("right")
	n, err := follower.Declare(b, follower.Options{Role: follower.Understudy})
	if err != nil {
		return err
	}
	c, err := b.Complete(ctx, options...)
	if err != nil {
		return err
	}
	if err := n.Join(c); err != nil {
		return err
	}
	for {
		f, err := n.Await(ctx, 5*time.Second)
		missing := new(follower.MissingError)
		switch {
		case err == nil:
			err = show(n, f, world)
		case errors.Is(err, follower.ErrQuit):
			return c.Leave(ctx)
		case errors.Is(err, follower.ErrTimeout), errors.Is(err, follower.ErrStreamsChanged), errors.Is(err, follower.ErrNotSent):
			continue
		case errors.As(err, &missing): // the frame is over, and the next one comes
			world.Begin(missing.Reset)
			continue
		}
		if err != nil {
			n.Close()
			return errors.Join(err, c.Fail(err))
		}
	}
}

// show shows one frame.
func show(n *follower.Node, f follower.FrameData, world *World) error {
	controls, err := n.IsController()
	if err != nil {
		return err
	}
	sync, err := n.SyncEnabled()
	if err != nil {
		return err
	}
	world.Begin(f.Reset)
	if sync && !controls {
		state, err := n.ReceiveFollowerData()
		if err != nil {
			return err
		}
		world.Set(state)
	} else if state := world.Step(f.Delta); sync {
		if err := n.SendFollowerData(state); err != nil {
			return err
		}
	}
	return n.SendFrame(sha256.Sum256(world.State()), world.Render())
}

// The engine of the example goes on after a frame that was not sent, and takes over when the controller leaves. The document shows this very
// engine.
func TestTheEngineOfTheExample(t *testing.T) {
	world := new(World)
	lead := controller(t, 6, func(n *follower.Node, frame uint64, err error) {
		if err == nil && frame != 3 {
			require.NoError(t, n.SendFollowerData(binary.LittleEndian.AppendUint64(nil, frame)))
		}
	})
	clienttest.Run(t, clienttest.World{}, director(t, nil, map[string]any{"frames": 10, "reset": []any{3}}), lead,
		clienttest.Simulator{Name: "right", Run: func(ctx context.Context, options ...client.Option) error { return engine(ctx, world, options...) }})
	assert.Equal(t, 9, world.shown)
	assert.Equal(t, 1, world.resets)
	assert.Equal(t, metasim.Time(5+66_666_667), world.age, "what frame 5 brought, and the time of frames 6 to 9")
	text, err := os.ReadFile("../../docs/followers.md")
	require.NoError(t, err)
	_, code, _ := strings.Cut(string(text), "```go\n")
	code, _, _ = strings.Cut(code, "```")
	example, err := os.ReadFile("example_test.go")
	require.NoError(t, err)
	assert.NotEmpty(t, code)
	assert.Contains(t, string(example), code, "docs/followers.md shows the engine of example_test.go")
}
