package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"metasim/federates/authority/tree"
)

// The errors of a member, beside those of package tree.
var (
	ErrOtherInstance = errors.New("the store is of another instance")
	ErrOtherKind     = errors.New("the store is of members of another kind")
	ErrLimits        = errors.New("the store has other limits")
	ErrFormat        = errors.New("the store is not one that this program can read")
	ErrDiverged      = errors.New("the log of the store cannot be applied")
	ErrClosed        = errors.New("this member is closed")
	ErrFirings       = errors.New("the command fires too much at once")
)

// A ProcedureFunc is run because of a Firing. It may do what it likes, and must bear to run twice.
type ProcedureFunc func(ctx context.Context, f tree.Firing) error

// A Config says who a member is.
type Config struct {
	// Instance names the world whose metadata these are. All members of a store have the same one. Needed.
	Instance string
	// Kind is what its members are: "homeserver", "simserver". All members of a store have the same one. Needed.
	Kind string
	// Name is the member, for logs and for Members. Needed.
	Name string
	// Limits are those of the tree: 0 is the default. The first member writes them into the store; later ones that give others are refused, and those that
	// give none have those of the store.
	Limits tree.Limits
	// Every is after how many commands a snapshot is written, and the log before it removed. 0 is 4096. Lower it if a member takes long to begin.
	Every uint64
	// Timeout bounds calls whose context has no deadline. 0 is 5 s. Raise it for etcd members far from each other.
	Timeout time.Duration
	// Lease is for how long sessions of a member outlive it, and how long it takes until another one runs procedures. 0 is 10 s. With etcd at least 1 s.
	Lease time.Duration
	// Procedures are those that triggers run, by name. All members should have the same ones, as any of them may have to run them.
	Procedures map[string]ProcedureFunc
	// Functions are those of projections, by name, beside "copy".
	Functions map[string]tree.Function
	// Stepped: the member does nothing by itself. It sees what others write when it writes itself, and in Step, which the caller calls about three times in each
	// Lease; Timeout should be long then, as a call ends with the simulation.
	Stepped bool
	// Draw returns a text that no other member has, and no earlier life of this one. nil: random. A member of a run is named by its simulated time.
	Draw func() string
	// Log hears of failed procedures, sessions that ended with their process, and lost connections. nil: nobody does.
	Log *slog.Logger
}

// Validate returns the config with defaults in the place of zeros, or what is wrong with it.
func (c Config) Validate() (Config, error) {
	for _, f := range []struct{ name, value string }{{"Instance", c.Instance}, {"Kind", c.Kind}, {"Name", c.Name}} {
		if f.value == "" || len(f.value) > 255 || tree.At(f.value) != tree.Path("/"+f.value) {
			return c, fmt.Errorf("%s is %q: give 1 to 255 characters, without / and %%", f.name, f.value)
		}
	}
	if c.Every == 0 {
		c.Every = 4096
	}
	if c.Timeout == 0 {
		c.Timeout = 5 * time.Second
	}
	if c.Lease == 0 {
		c.Lease = 10 * time.Second
	}
	if c.Timeout < 0 || c.Lease < 0 {
		return c, fmt.Errorf("timeout is %v and lease is %v: neither may be negative", c.Timeout, c.Lease)
	}
	if c.Draw == nil {
		c.Draw = rand.Text
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Limits != (tree.Limits{}) {
		if _, err := c.Limits.Resolve(); err != nil {
			return c, err
		}
	}
	return c, nil
}

// A Favor says which reads one wants.
type Favor int

// The favors.
const (
	// LowLatency reads what this member knows: it may be old, and is there even if the store does not answer.
	LowLatency Favor = iota
	// Consistency asks the store first: what was written before the read began is read.
	Consistency
)
