package delay

import (
	"fmt"
	"slices"

	"metasim/metasim"
)

// A Rule gives links a Spec: those whose sender, recipient and channel match its patterns. In a pattern * stands for
// any characters, also none; an empty pattern matches everything.
type Rule struct {
	From, To, Channel string
	Spec
}

// A RuleError says which rule of a table is wrong. It wraps a *FieldError.
type RuleError struct {
	Index int // from 0
	Rule  Rule
	Err   error
}

func (e *RuleError) Error() string {
	r := e.Rule
	return fmt.Sprintf("rule %d (from %q to %q on %q): %v", e.Index+1, r.From, r.To, r.Channel, e.Err)
}

func (e *RuleError) Unwrap() error { return e.Err }

// A Table says how long messages travel, rule by rule. It implements metasim.Delays. It never changes: every link that
// it returns is a fresh one, and equal to all others of the same name.
type Table struct {
	seed  uint64
	rules []Rule
}

var _ metasim.CommonDelays = (*Table)(nil)

// NewTable returns the table of a scenario. The last rule that matches a link decides about it as a whole: a rule that
// gives a delay alone takes away the loss that an earlier one gave. A link without any rule takes one step.
//
// The caller must not change an Empirical delay of the rules from now on. It fails with a *RuleError.
func NewTable(seed uint64, rules []Rule) (*Table, error) {
	for i, r := range rules {
		if err := r.Spec.Validate(); err != nil {
			return nil, &RuleError{Index: i, Rule: r, Err: err}
		}
	}
	return &Table{seed: seed, rules: slices.Clone(rules)}, nil
}

// Link returns the link from one client to another on a channel, in its initial state.
func (t *Table) Link(from, to, channel string) metasim.Link {
	spec := t.spec(from, to, channel)
	if f, ok := spec.fixed(); ok {
		return f
	}
	return newLink(spec, streams(t.seed, from, to, channel))
}

// Common implements metasim.CommonDelays: it knows the channels of which one rule decides for all senders and recipients,
// and gives them a fixed delay.
func (t *Table) Common(channel string) (metasim.Link, bool) {
	for _, r := range slices.Backward(t.rules) {
		if Match(r.Channel, channel) {
			f, ok := r.Spec.fixed()
			return f, ok && MatchesAll(r.From) && MatchesAll(r.To)
		}
	}
	return fixed(0), true
}

// Rule returns the index of the rule that decides about a link; -1: none does.
func (t *Table) Rule(from, to, channel string) int {
	for i, r := range slices.Backward(t.rules) {
		if Match(r.From, from) && Match(r.To, to) && Match(r.Channel, channel) {
			return i
		}
	}
	return -1
}

func (t *Table) spec(from, to, channel string) Spec {
	if i := t.Rule(from, to, channel); i >= 0 {
		return t.rules[i].Spec
	}
	return Spec{}
}
