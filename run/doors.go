package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/url"
	"os"
	"time"

	"metasim/internal/atomicfile"
	"metasim/record/journal"
	"metasim/scenarios"
)

// doorsFile has the doors of a run, in its directory, while the run goes on. Only the user reads it: it has the join token.
const doorsFile = "doors"

// fromOutside names the clients that are started elsewhere.
func (o *Options) fromOutside(sc *scenarios.Scenario) (names []string) {
	for i := range sc.Clients {
		if sc.Clients[i].External || o.Serve {
			names = append(names, sc.Clients[i].Name)
		}
	}
	return names
}

// patience says for how long each client that is started elsewhere waits for a run that was cut off to be resumed, and each one on another host for a relay that
// takes the place of one that has died: as long as the server waits for clients. It is empty where the run cannot be resumed.
func (o *Options) patience(sc *scenarios.Scenario) map[string]time.Duration {
	patience := map[string]time.Duration{}
	if o.NoJournal || len(sc.RealTime()) > 0 {
		return patience
	}
	for _, name := range o.surviving(sc) {
		if patience[name] = sc.StartTimeout; sc.StartTimeout < 0 {
			patience[name] = math.MaxInt64 // off: no limit
		}
	}
	return patience
}

// surviving names the clients that may outlive what they are connected to.
func (o *Options) surviving(sc *scenarios.Scenario) (names []string) {
	if !o.Nested && !o.Apart || len(sc.Nested) == 0 { // else nobody resumes the run
		names = o.fromOutside(sc)
	}
	for i := range sc.Clients {
		if c := &sc.Clients[i]; o.far() && !c.External && !o.inside(*c) {
			names = append(names, c.Name)
		}
	}
	return names
}

// keepDoors writes the doors of a run to its directory, if clients may come back to the run.
func (l *listeners) keepDoors(o *Options, sc *scenarios.Scenario, dir journal.Dir) error {
	if l.outside == nil || len(o.patience(sc)) == 0 || len(o.fromOutside(sc)) == 0 {
		return nil
	}
	u, err := url.Parse(l.outside.URL())
	if err != nil {
		return err
	}
	d := doors{Listen: u.Host, Token: l.token, Tokens: l.bound.byName, TokensFile: l.bound.file, Insecure: o.Insecure, Certificate: o.Certificate, Made: l.made}
	if l.outside.Private {
		d.Listen = u.Path
	}
	content, err := json.Marshal(d)
	if err != nil {
		return err
	}
	l.doors = dir.File(doorsFile)
	if err := atomicfile.Write(l.doors, content, 0o600); err != nil {
		return fmt.Errorf("what clients need to come back cannot be written: %w", err)
	}
	return nil
}

// reopen has the options open the doors that a run had when it was cut off, where they do not say otherwise. It returns nil if the run has none.
func (o *Options) reopen(dir journal.Dir) (*doors, error) {
	content, err := os.ReadFile(dir.File(doorsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	d := new(doors)
	if err == nil {
		err = json.Unmarshal(content, d)
	}
	if err != nil {
		return nil, fmt.Errorf("where clients from outside joined is not known any more (%w); remove %s, and start them again", err, dir.File(doorsFile))
	}
	if o.Listen == "" {
		o.Listen = d.Listen
	}
	if o.Token == "" {
		o.Token = d.Token
	}
	o.Insecure, o.Certificate = d.Insecure, d.Certificate
	return d, nil
}

// forgetDoors removes what was written down: the run is over.
func (l *listeners) forgetDoors() error {
	if l.doors == "" {
		return nil
	}
	if err := os.Remove(l.doors); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// bound returns the join tokens that are bound to names, as they were.
func (d *doors) bound() boundTokens { return boundTokens{byName: d.Tokens, file: d.TokensFile} }
