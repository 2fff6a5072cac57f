package follower

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash"
	"slices"
	"time"

	"metasim/client"
	"metasim/federates/catalog"
	"metasim/federates/follower/frames"
	"metasim/federates/loop"
	"metasim/metasim"
)

// A nodeResult is what a render node leaves with.
type nodeResult struct {
	Frames       uint64 `json:"frames"`        // that it has shown
	AsController uint64 `json:"as_controller"` // of them, computed
	DataHash     string `json:"data_hash"`     // SHA-256 over (frame number, data) of all frames; empty without synchronisation
	Bytes        uint64 `json:"data_bytes"`
	Missing      uint64 `json:"missing"` // frames without data
	FirstMissing string `json:"first_missing,omitempty"`
	Streams      uint64 `json:"streams_changed"`
	Resets       uint64 `json:"resets"`
	Refused      uint64 `json:"refused"` // sets of data that were not released
	Failed       bool   `json:"failed"`
	Quit         string `json:"quit,omitempty"` // why it was told to leave; empty: the work was done
}

// An engine is a node that shows a state.
type engine struct {
	*Node
	state  *state
	result nodeResult
	hash   hash.Hash
	load   time.Duration
	failAt int64 // frame; -1: none
	fail   string
	told   bool     // to fail
	alone  bool     // its state goes on without synchronisation
	owed   [][]byte // inputs of missing frames, which its state has not met
}

// errFailed is how a node fails that was told to: it leaves without a word to the others.
var errFailed = errors.New("it fails here, as fail_at says")

// RenderNode is the model render-node.
func RenderNode(ctx context.Context, c *client.Client, in *catalog.Instance, out []*client.Publication) error {
	s, err := newState(in)
	if err != nil {
		return err
	}
	e := &engine{Node: nodeOf(in, out), state: s, hash: sha256.New(), load: time.Duration(catalog.Get[metasim.Time](in, "load")),
		failAt: -1, fail: catalog.Get[string](in, "fail")}
	if at, ok := catalog.Find[int64](in, "fail_at"); ok {
		e.failAt = at
	}
	commands, _ := catalog.Find[string](in, "commands")
	e.options.Other = func(m client.Message) error { return e.other(m, commands) }
	if err := e.Join(c); err != nil {
		return err
	}
	for err == nil {
		err = e.turn(ctx)
	}
	quit := new(QuitError)
	switch {
	case errors.Is(err, errFailed):
		e.result.Failed = true
	case errors.As(err, &quit):
		e.result.Quit, e.result.Failed = quit.Reason, quit.Failed
	case !errors.Is(err, ErrQuit):
		return err
	}
	e.result.Refused = e.Refused()
	if e.result.Bytes > 0 || !e.alone {
		e.result.DataHash = hex.EncodeToString(e.hash.Sum(nil))
	}
	return loop.Finish(ctx, c, e.result)
}

// nodeOf makes a node of a model whose channels are declared.
func nodeOf(in *catalog.Instance, out []*client.Publication) *Node {
	o := Options{Director: catalog.Get[string](in, "director"), Role: Role(slices.Index(frames.Roles, catalog.Get[string](in, "role"))),
		Order: catalog.Get[int64](in, "order"), MaxBytes: int(catalog.Get[int64](in, "max_bytes"))}
	n := &Node{options: o, replies: out[0], model: true}
	n.orders, _, n.states = catalog.FollowerChannels(o.Director)
	if o.Role != Follower {
		n.data = out[1]
	}
	return n
}

// turn shows one frame.
func (e *engine) turn(ctx context.Context) error {
	f, err := e.Await(ctx, 0)
	missing := new(MissingError)
	switch {
	case errors.Is(err, ErrStreamsChanged):
		e.result.Streams++
		return nil
	case errors.As(err, &missing):
		if e.result.Missing++; e.result.Missing == 1 {
			e.result.FirstMissing = missing.Error()
		}
		if missing.Reset {
			e.result.Resets++
		}
		e.owed = append(e.owed, missing.Inputs...)
		return nil
	case errors.Is(err, ErrNotSent): // it was told to skip that frame
		e.result.Missing++
		e.result.FirstMissing = err.Error()
		return nil
	case err != nil:
		return err
	}
	if f.Reset {
		e.result.Resets++
	}
	if done, err := e.update(ctx, f); err != nil || !done {
		return err
	}
	if err := e.Compute(ctx, e.load); err != nil {
		return err
	}
	streams, err := e.Streams()
	if err != nil {
		return err
	}
	pictures, err := e.state.pictures(f, streams)
	if err != nil {
		return err
	}
	return e.SendFrame(e.state.hash, pictures...)
}

// update makes the state that of a frame: computed, received, or, without synchronisation, its own. done is false for a frame in which it was
// told to send nothing.
func (e *engine) update(ctx context.Context, f FrameData) (done bool, err error) {
	sync, err := e.SyncEnabled()
	if err != nil {
		return false, err
	}
	controls, err := e.IsController()
	if err != nil {
		return false, err
	}
	inputs, err := e.ReceiveInteractionData()
	if err != nil {
		return false, err
	}
	inputs, e.owed = append(e.owed, inputs...), nil
	fails := int64(f.Frame) == e.failAt || e.told
	if fails && e.fail == "before" {
		return false, errFailed
	}
	if !sync {
		if !e.alone {
			e.alone = true
			e.state.alone(e.client.Name())
		}
		if err := e.goOn(f, inputs); err != nil {
			return false, err
		}
		if fails && e.fail != "skip" { // half-way and after are one, as nothing is sent
			return false, errFailed
		}
		e.result.Frames++
		return true, nil
	}
	var data []byte
	if controls {
		if data, err = e.compute(ctx, f, inputs); errors.Is(err, ErrQuit) {
			return false, nil // the next Await says why
		} else if err != nil {
			return false, err
		}
		if fails && e.fail == "skip" {
			return false, nil
		}
		if fails && e.fail == "half-way" {
			return false, errors.Join(e.sendHalf(data), errFailed)
		}
		err = e.SendFollowerData(data)
	} else if data, err = e.ReceiveFollowerData(); err == nil {
		err = e.state.set(data)
	}
	if err != nil {
		return false, err
	}
	if controls {
		e.result.AsController++
	}
	e.result.Frames++
	e.result.Bytes += uint64(len(data))
	e.hash.Write(binary.LittleEndian.AppendUint64(nil, f.Frame))
	e.hash.Write(data)
	if fails && e.fail != "skip" { // after, and half-way of a node that does not send
		return false, errFailed
	}
	return true, nil
}

// other takes a message that is none of the cluster's: a state of the world, or a command.
func (e *engine) other(m client.Message, commands string) error {
	if m.Channel != commands {
		return e.state.feed.take(m)
	}
	c, load, err := commandOf(m)
	if err != nil || c.Node != e.client.Name() {
		return err
	}
	if c.Load != "" {
		e.load = load
	}
	e.told = e.told || c.Fail
	return nil
}

// compute computes the state of a frame, or waits for that which the world has at its time.
func (e *engine) compute(ctx context.Context, f FrameData, inputs [][]byte) (data []byte, err error) {
	if e.state.feed == nil {
		return e.state.step(f, inputs), nil
	}
	came := false
	if err := e.await(ctx, func() bool { data, came = e.state.feed.find(f.Tracked); return came }); err != nil {
		return nil, err
	}
	return data, e.state.set(data)
}

// goOn makes the state that of a frame without synchronisation: its own, or the latest of the world that it has heard.
func (e *engine) goOn(f FrameData, inputs [][]byte) error {
	if e.state.feed == nil {
		e.state.step(f, inputs)
		return nil
	}
	if data, came := e.state.feed.find(f.Tracked); came {
		return e.state.set(data)
	}
	return nil
}

// sendHalf sends data, and not the notice that all of it is sent.
func (e *engine) sendHalf(data []byte) error {
	pieces, _, err := e.core.Send(data)
	if err != nil {
		return err
	}
	return publishCopies(e.data, pieces[:(len(pieces)+1)/2])
}
