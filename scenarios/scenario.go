package scenarios

import (
	"time"

	"metasim/delay"
	"metasim/federates/catalog"
	"metasim/metasim"
)

// DefaultStartTimeout is how long clients may take to join where a scenario does not say.
const DefaultStartTimeout = 30 * time.Second

// A Scenario is a file that was read, overridden, checked and expanded: ready to run.
type Scenario struct {
	Name string
	Seed uint64
	// Until ends the run: everything strictly before it happens. Zero: when every client has left.
	Until metasim.Time
	// Rate is simulated seconds a wall-clock second. Zero: as fast as it can.
	Rate float64
	// MaxSteps is how many steps one time may have; never zero.
	MaxSteps uint32
	// StartTimeout is the wall-clock time that all clients have to join; never zero.
	StartTimeout time.Duration
	// PublicLCM is the URL of the LCM network on which the run is shown. Empty: none. A path in it is absolute.
	PublicLCM string
	// LCMSuffix stands there between a channel and the name of the sender. Empty: "@".
	LCMSuffix string
	// Clients are all that take part, in the order of the file; names are unique.
	Clients []Client
	// Rules say how long messages travel; the last that matches decides.
	Rules []delay.Rule
	// Dir is the scenario's directory: what paths in it are relative to.
	Dir string

	doc          document // what Resolved writes
	allowOutside bool
}

// A Client is one simulator of a run: exactly one of Model, Run and External says what it is.
type Client struct {
	// Name is Entry, or Entry-Index where the entry has a count.
	Name  string
	Entry string
	// Index is the client's position among the Count clients of its entry, from 0. Count is 1 without a count.
	Index, Count int

	// Model names a built-in model, and With holds its parameters as they were written. Clients of one entry share the
	// map: it is not to be changed.
	Model string
	With  map[string]any
	// Run is a command and its arguments, started without a shell; Scenario.Command finds the program.
	Run []string
	// Env holds NAME=value, to be added to the command's environment, and WorkDir is where it runs: never empty for a
	// command.
	Env     []string
	WorkDir string
	// External says that somebody else starts the client.
	External bool
	// Detach says that the run goes on without the client when it is lost; else it fails.
	Detach bool
}

// Env is what a built-in model is told beside its parameters.
func (s *Scenario) Env(c *Client) catalog.Env {
	return catalog.Env{
		Name: c.Name, Entry: c.Entry, Index: c.Index, Count: c.Count, Seed: s.Seed, Open: s.Open,
	}
}
