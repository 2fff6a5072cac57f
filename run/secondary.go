package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"metasim/client"
	"metasim/federates"
	"metasim/federates/catalog"
	"metasim/wire"
	"metasim/wire/transport"
	"metasim/wire/transport/all"
)

// MostSecondaries is how many clients may move the models of a world.
const MostSecondaries = 64

// SecondaryName returns the client that is a world's secondary of this number, from 1 on.
func SecondaryName(number int) string { return fmt.Sprintf("secondary-%d", number) }

// A Secondary joins the run of a world that is carried out elsewhere, and moves models for it.
type Secondary struct {
	Server string // the address of the primary
	Token  string // the join token; empty: the run has none
	Name   string // of the client. Empty: the first secondary that nobody is yet
	World  string // the file of the world, for errors
	Digest string // SHA-256 of that file, in hex. The primary has to have the same
	// Patience is how long, in wall-clock time, the primary may take to listen. 0: it listens already.
	Patience time.Duration
}

// A SecondaryWith is what a world's secondary elsewhere is told of its part.
type SecondaryWith struct {
	Digest string `json:"file_sha256"` // of the file of the world
}

// An OtherWorldError tells that the primary runs another file than the secondary was given.
type OtherWorldError struct{ File, Here, There string }

func (e *OtherWorldError) Error() string {
	return fmt.Sprintf("%s is not the world of the primary: its SHA-256 is %s, and that of the primary's file is %s; copy the file from the primary's host", e.File, e.Here, e.There)
}

// A NoPrimaryError tells that nobody let a secondary in, for as long as it waited.
type NoPrimaryError struct {
	Server string
	After  time.Duration
	Err    error // of the last try
}

func (e *NoPrimaryError) Error() string {
	return fmt.Sprintf("no primary waits for secondaries at %s (%v, after %v); start it, see that the address is the one that it printed, or raise --start-timeout; "+
		"a primary that all its secondaries have joined waits no more", e.Server, e.Err, e.After)
}
func (e *NoPrimaryError) Unwrap() error { return e.Err }

// A NoSeatError tells that a run has no place for another secondary.
type NoSeatError struct {
	Server string
	Taken  int  // secondaries that have joined
	Token  bool // the token fits none of the others
}

func (e *NoSeatError) Error() string {
	switch {
	case e.Token:
		return fmt.Sprintf("the token fits no secondary of the primary at %s; set METASIM_TOKEN to what the primary printed, or to the line of this secondary in its file tokens", e.Server)
	case e.Taken == 0:
		return fmt.Sprintf("the run at %s has no secondaries that are started elsewhere; start it with metasim world run --network-role primary", e.Server)
	}
	return fmt.Sprintf("the primary at %s has all its secondaries: %d have joined; start it with a larger --network-secondaries, or start fewer secondaries", e.Server, e.Taken)
}

// TakePart joins, and moves models until the run ends. It returns the name under which it joined.
func (s *Secondary) TakePart(ctx context.Context) (name string, err error) {
	if s.Name != "" {
		return s.Name, s.takePart(ctx, s.Name)
	}
	full := &NoSeatError{Server: s.Server}
	for k := 1; k <= MostSecondaries; k++ {
		name := SecondaryName(k)
		err := s.takePart(ctx, name)
		switch {
		case errors.Is(err, &wire.RefusedError{Reason: wire.NameTaken}):
			full.Taken++
		case errors.Is(err, &wire.RefusedError{Reason: wire.BadToken}): // a token may be good for one name
			full.Token = true
		case errors.Is(err, &wire.RefusedError{Reason: wire.UnknownName}):
			return "", full
		default:
			return name, err
		}
	}
	return "", full
}

func (s *Secondary) takePart(ctx context.Context, name string) error {
	m, err := federates.New("world-secondary", map[string]any{}, catalog.Env{Name: name, Entry: name, Count: 1})
	if err != nil {
		return err
	}
	// The connection is made first: a client that makes its own waits for its server to come back where the primary refuses the certificate of a wrong token.
	host, err := client.Connect(ctx, client.WithTransports(all.Table()), client.WithServer(s.Server), client.WithToken(s.Token), client.WithStartTimeout(s.Patience))
	var absent *transport.AbsentError
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return err
	case errors.As(err, &absent):
		return &NoPrimaryError{s.Server, s.Patience, absent.Err}
	case transport.Unanswered(err):
		return &NoPrimaryError{s.Server, s.Patience, errors.New("nobody answers")}
	default:
		return err
	}
	return errors.Join(federates.TakePart(ctx, &sameWorld{m, s}, name, client.WithHost(host), client.WithToken(s.Token), client.WithName(name)), host.Close())
}

// sameWorld is the model of a secondary that first looks whether the primary has the same world.
type sameWorld struct {
	*federates.Model
	of *Secondary
}

// Run takes part in the run.
func (w *sameWorld) Run(ctx context.Context, c *client.Client) error {
	var told SecondaryWith
	if err := json.Unmarshal(c.About().With, &told); err != nil || told.Digest == "" {
		return fmt.Errorf("the run at %s does not say which world it has; start it with metasim world run --network-role primary", w.of.Server)
	}
	if told.Digest != w.of.Digest {
		return &OtherWorldError{File: w.of.World, Here: w.of.Digest, There: told.Digest}
	}
	return w.Model.Run(ctx, c)
}
