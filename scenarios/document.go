package scenarios

import (
	"time"

	"metasim/metasim"
)

// A document is a scenario as a file writes it, with its defaults filled in.
type document struct {
	Name         string  `mapstructure:"name" json:"name"`
	Seed         uint64  `mapstructure:"seed" json:"seed"`
	Until        span    `mapstructure:"until" json:"until,omitzero"`
	Rate         float64 `mapstructure:"rate" json:"rate"`
	MaxSteps     uint32  `mapstructure:"max_steps" json:"max_steps"`
	StartTimeout span    `mapstructure:"start_timeout" json:"start_timeout"`
	// Where a run was shown is no part of what it was, so that it is not resolved.
	PublicLCM string        `mapstructure:"public_lcm" json:"-"`
	LCMSuffix string        `mapstructure:"lcm_suffix" json:"lcm_suffix,omitempty"`
	Clients   []clientEntry `mapstructure:"clients" json:"clients"`
	Links     []object      `mapstructure:"links" json:"links,omitempty"`
}

// A clientEntry is an element of a scenario's list of clients.
type clientEntry struct {
	Name     string   `mapstructure:"name" json:"name"`
	Count    *int     `mapstructure:"count" json:"count,omitempty"`
	Model    string   `mapstructure:"model" json:"model,omitempty"`
	With     object   `mapstructure:"with" json:"with,omitempty"`
	Run      []string `mapstructure:"run" json:"run,omitempty"`
	Env      []string `mapstructure:"env" json:"env,omitempty"`
	Dir      string   `mapstructure:"dir" json:"dir,omitempty"`
	External bool     `mapstructure:"external" json:"external,omitempty"`
	OnExit   string   `mapstructure:"on_exit" json:"on_exit,omitempty"`
}

// A span is a duration as files write it: "5ms".
type span metasim.Time

// MarshalText writes "5ms".
func (s span) MarshalText() ([]byte, error) { return []byte(metasim.Time(s).String()), nil }

// expand fills the exported half of a Scenario from its document.
func (s *Scenario) expand() {
	d := &s.doc
	s.Name, s.Seed, s.Until, s.Rate, s.MaxSteps = d.Name, d.Seed, metasim.Time(d.Until), d.Rate, d.MaxSteps
	s.StartTimeout = time.Duration(d.StartTimeout)
	s.PublicLCM, s.LCMSuffix = s.publicLCM(), d.LCMSuffix
	for i := range d.Clients {
		e := &d.Clients[i]
		c := Client{Entry: e.Name, Count: 1, Model: e.Model, With: e.With, Run: e.Run, Env: e.Env,
			External: e.External, Detach: e.OnExit == "detach"}
		if e.Count != nil {
			c.Count = *e.Count
		}
		if e.Run != nil {
			c.WorkDir = within(s.Dir, e.Dir)
		}
		for c.Index = range c.Count {
			c.Name = clientName(e.Name, c.Index, e.Count != nil)
			s.Clients = append(s.Clients, c)
		}
	}
}
