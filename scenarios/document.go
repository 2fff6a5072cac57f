package scenarios

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"metasim/delay"
	"metasim/federates/catalog"
	"metasim/metasim"
)

// documentOf decodes a tree in which the schema and the checks found nothing wrong, and fills the defaults in.
func documentOf(root *node) (document, error) {
	d := document{MaxSteps: metasim.DefaultMaxSteps, StartTimeout: span(DefaultStartTimeout), PublicLCM: root.child("public_lcm").word()}
	d.LCMSubscribers = int(root.child("lcm_subscribers").number(0))
	d.Memory, d.Cascade = root.child("memory").word(), root.child("cascade").word()
	text, err := json.Marshal(root.plain())
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		return d, fmt.Errorf("a scenario that fits the schema cannot be decoded, a mistake of metasim: %w", err)
	}
	switch text := root.child("peer_timeout").word(); text {
	case "":
	case peerTimeoutOff:
		d.PeerTimeout = NoPeerTimeout
	default:
		t, err := delay.ParseDuration(text) // without an error: the checks found none
		if err != nil {
			return d, err
		}
		d.PeerTimeout = time.Duration(t)
	}
	for i, n := range root.child("clients").items() {
		d.Clients[i].Ahead = n.child("ahead").word()
		d.Clients[i].With, _ = n.child("with").plain().(object) // as it was written: JSON has one type of numbers
	}
	return d, nil
}

// expand fills the exported half of a Scenario from its document. It fails where the schema and the checks have let something pass.
func (s *Scenario) expand() error {
	d := &s.doc
	s.Name, s.Seed, s.Until, s.Rate, s.MaxSteps = d.Name, d.Seed, metasim.Time(d.Until), d.Rate, d.MaxSteps
	s.StartTimeout, s.PeerTimeout = time.Duration(d.StartTimeout), d.PeerTimeout
	s.OutputLimit = cmp.Or(int64(d.OutputLimit), defaultOutputLimit)
	err := errors.Join(setSize(&s.Memory, d.Memory, metasim.DefaultMemory), setSize(&s.Cascade, d.Cascade, metasim.DefaultCascade))
	s.PublicLCM, s.LCMSuffix = absoluteURL(d.PublicLCM, s.Dir), d.LCMSuffix
	s.LCMPlain, s.LCMSubscribers = d.LCMNames == "plain", d.LCMSubscribers
	for i := range d.Clients {
		e := &d.Clients[i]
		c := Client{Entry: e.Name, Count: 1, Model: e.Model, With: e.With, Run: e.Run, Env: e.Env,
			External: e.External, Detach: e.OnExit == "detach", Publish: e.Publish, Subscribe: e.Subscribe,
			Checkpoint: metasim.Time(cmp.Or(e.Checkpoint, d.Checkpoint)), HangTimeout: time.Duration(e.HangTimeout)}
		err = errors.Join(err, setSize(&c.Ahead, e.Ahead, 0))
		if e.Count != nil {
			c.Count = *e.Count
		}
		if e.OnExit == "restart" {
			c.Restarts = defaultRestarts
			if e.Restarts != nil {
				c.Restarts = *e.Restarts
			}
		}
		if c.Scope, c.Dir = s.Scopes.Of(e.Name), s.Dir; c.Scope != nil {
			c.Dir = s.dirs[c.Scope.Name()]
		}
		if e.Run != nil {
			c.WorkDir = within(c.Dir, e.Dir)
		}
		for c.Index = range c.Count {
			c.Name = clientName(e.Name, c.Index, e.Count != nil)
			s.Clients = append(s.Clients, c)
		}
	}
	return err
}

// defaultRestarts is how often a client is started again in a run.
const defaultRestarts = 3

// setSize reads a bound: 0 for off, and a default where there is none.
func setSize(bound *int, text string, usual size) error {
	switch text {
	case "":
	case "off":
		usual = 0
	default:
		if err := usual.UnmarshalText([]byte(text)); err != nil {
			return fmt.Errorf("a scenario that fits the schema cannot be decoded, a mistake of metasim: %w", err)
		}
	}
	*bound = int(usual)
	return nil
}

// clientName is the name of client i of an entry.
func clientName(entry string, i int, counted bool) string {
	if !counted {
		return entry
	}
	return entry + "-" + strconv.Itoa(i)
}

// AheadOf returns the bounds that clients have of their own, by name; nil where none has.
func (s *Scenario) AheadOf() (bounds map[string]int) {
	for i := range s.Clients {
		if c := &s.Clients[i]; c.Ahead > 0 {
			if bounds == nil {
				bounds = map[string]int{}
			}
			bounds[c.Name] = c.Ahead
		}
	}
	return bounds
}

// Checkpoints returns the checkpoint interval of each client, by name. A client without an interval makes none.
func (s *Scenario) Checkpoints() (every map[string]metasim.Time) {
	for i := range s.Clients {
		if c := &s.Clients[i]; c.Checkpoint > 0 {
			if every == nil {
				every = map[string]metasim.Time{}
			}
			every[c.Name] = c.Checkpoint
		}
	}
	return every
}

// Env returns what a client that is a built-in model knows beside its parameters.
func (s *Scenario) Env(c *Client) catalog.Env {
	return catalog.Env{
		Name: c.Scope.Calls(c.Name), Full: c.Name, Entry: c.Scope.Calls(c.Entry), Index: c.Index, Count: c.Count, Seed: s.Seed,
		Open: directory{path: c.Dir, outside: s.allowOutside}.open, Dir: c.Dir,
	}
}

// Resolved returns the scenario as it was resolved, as JSON: overrides applied, defaults filled in, and the files that
// decide how long messages travel copied into it. It is in the scenario language itself, and the same for the same
// scenario on every machine. [Restore] reads it back. Unless withEnv is true, values of env are [Masked].
func (s *Scenario) Resolved(withEnv bool) (json.RawMessage, error) {
	doc := s.doc
	if !withEnv {
		doc.Clients = slices.Clone(doc.Clients)
		for i := range doc.Clients {
			doc.Clients[i].Env = masked(doc.Clients[i].Env)
		}
	}
	doc.Links = make([]object, len(s.Rules))
	for i, r := range s.Rules {
		doc.Links[i] = written(r)
	}
	text, err := json.Marshal(&doc)
	if err != nil {
		return nil, fmt.Errorf("scenario %s cannot be written as JSON: %w", s.Name, err)
	}
	return text, nil
}

// masked returns an env with its names alone.
func masked(env []string) (names []string) {
	for _, entry := range env {
		name, _, _ := strings.Cut(entry, "=")
		names = append(names, name+"="+Masked)
	}
	return names
}

// MarshalText writes "5ms".
func (s span) MarshalText() ([]byte, error) { return []byte(metasim.Time(s).String()), nil }

// UnmarshalText reads it.
func (s *span) UnmarshalText(text []byte) error {
	d, err := delay.ParseDuration(string(text))
	*s = span(d)
	return err
}

// written returns a rule in the scenario language, in one form however the file wrote it.
func written(r delay.Rule) object {
	o := object{"delay": writtenDelay(r.Spec.Delay)}
	put := func(key string, value any, worth bool) {
		if worth {
			o[key] = value
		}
	}
	put("from", r.From, r.From != "")
	put("to", r.To, r.To != "")
	put("channel", r.Channel, r.Channel != "")
	put("order", r.Spec.Order.String(), r.Spec.Order != delay.AnyOrder)
	put("bandwidth", strconv.FormatUint(uint64(r.Spec.Bandwidth), 10)+"bit", r.Spec.Bandwidth != 0)
	put("duplicate", r.Spec.Duplicate, r.Spec.Duplicate != 0)
	switch l := r.Spec.Loss.(type) {
	case delay.Bernoulli:
		o["loss"] = float64(l)
	case delay.GilbertElliott:
		o["loss"] = object{"gilbert_elliott": object{
			"p_good_to_bad": l.GoodToBad, "p_bad_to_good": l.BadToGood, "loss_good": l.LossGood, "loss_bad": l.LossBad,
		}}
	}
	return o
}

func writtenDelay(d delay.Distribution) any {
	switch d := d.(type) {
	case delay.Constant:
		return metasim.Time(d).String()
	case delay.Uniform:
		return object{"uniform": object{"min": span(d.Min), "max": span(d.Max)}}
	case delay.Normal:
		return object{"normal": object{"mean": span(d.Mean), "stddev": span(d.StdDev), "min": span(*d.Min)}}
	case delay.Exponential:
		return object{"exponential": object{"mean": span(d.Mean), "min": span(*d.Min)}}
	case delay.LogNormal:
		return object{"lognormal": object{"mean": span(d.Mean), "stddev": span(d.StdDev), "min": span(*d.Min)}}
	case delay.Gamma:
		return object{"gamma": object{"mean": span(d.Mean), "stddev": span(d.StdDev), "min": span(*d.Min)}}
	case delay.Empirical:
		values := make([]span, len(d))
		for i, t := range d {
			values[i] = span(t)
		}
		return object{"empirical": object{"values": values}}
	}
	return metasim.Time(0).String()
}
