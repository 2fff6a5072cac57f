// Package scope says what the clients of a scenario that is inside of another one call channels and one another. It is pure.
//
// A scenario inside a scenario is a scope: it has a name, "cell", or "plant/cell" for one that is inside of "plant". Its client
// "arm" takes part as "cell/arm", and its channel "POSE" is "cell/POSE", which are full names. An exposed channel is one of the
// scenario around it, where it may have another name. A client of the scope knows nothing of this: it says POSE, and hears of "arm".
//
// A nil *Scope is the outermost scenario, where all names are full.
package scope

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"metasim/metasim"
)

// A Nested is a scenario inside a scenario, as it is written down.
type Nested struct {
	// Name is its full name. A scenario that is around it stands before it in a list.
	Name string `json:"name"`
	// File is its file, relative to the directory of the outermost scenario, with slashes.
	File string `json:"file,omitempty"`
	// Expose has its exposed channels: its own name for each, and the name in the scenario around it.
	Expose map[string]string `json:"expose,omitempty"`
}

// A Scope is such a scenario, as its clients see it.
type Scope struct {
	name   string
	around *Scope
	full   map[string]string // the full names of exposed channels
	inner  map[string]string // and back
}

// A Set has the scopes of a composed scenario, by name. A nil Set has none.
type Set map[string]*Scope

// Add adds a scope. Those around it are there. Its error says which name cannot be told from another.
func (set Set) Add(n *Nested) error {
	if n.Name == "" || set[n.Name] != nil {
		return fmt.Errorf("a scenario inside is called %q, as another one is, or not at all; give each a name of its own", n.Name)
	}
	s := &Scope{name: n.Name, around: set.Of(n.Name), full: make(map[string]string, len(n.Expose)), inner: make(map[string]string, len(n.Expose))}
	for _, own := range slices.Sorted(maps.Keys(n.Expose)) {
		outer := n.Expose[own]
		if why := s.wrong(own, outer); why != "" {
			return fmt.Errorf("scenario %q exposes %q as %q: %s", n.Name, own, outer, why)
		}
		full := s.around.Channel(outer)
		s.full[own], s.inner[full] = full, own
	}
	set[n.Name] = s
	return nil
}

// wrong says why a channel cannot be exposed under a name; empty: it can.
func (s *Scope) wrong(own, outer string) string {
	switch {
	case own == "" || outer == "":
		return "a channel has a name; write one"
	case strings.HasPrefix(s.around.Channel(outer), s.name+"/"):
		return "such names are those of channels that stay inside; choose another"
	}
	if other, taken := s.inner[s.around.Channel(outer)]; taken {
		return fmt.Sprintf("%q has that name already; choose another", other)
	}
	return ""
}

// Of returns the scope to which a full name belongs: of a client, or of a channel that stays inside.
func (set Set) Of(name string) *Scope {
	if len(set) == 0 {
		return nil
	}
	for cut := strings.LastIndexByte(name, '/'); cut > 0; cut = strings.LastIndexByte(name[:cut], '/') {
		if s := set[name[:cut]]; s != nil {
			return s
		}
	}
	return nil
}

// Name is the full name of the scope; empty for the outermost scenario.
func (s *Scope) Name() string {
	if s == nil {
		return ""
	}
	return s.name
}

// Around returns the scope around this one; nil: that is the outermost scenario.
func (s *Scope) Around() *Scope {
	if s == nil {
		return nil
	}
	return s.around
}

// Client returns the full name of a client that the scope calls own.
func (s *Scope) Client(own string) string {
	if s == nil {
		return own
	}
	return s.name + "/" + own
}

// Channel returns the full name of a channel that the scope calls own.
func (s *Scope) Channel(own string) string {
	if s == nil {
		return own
	}
	if full, exposed := s.full[own]; exposed {
		return full
	}
	return s.name + "/" + own
}

// Own returns what the scope calls a channel. It is the inverse of Channel; false if the scope has no name for it.
func (s *Scope) Own(channel string) (own string, ok bool) {
	if s == nil {
		return channel, true
	}
	if own, exposed := s.inner[channel]; exposed {
		return own, true
	}
	own, ok = strings.CutPrefix(channel, s.name+"/")
	if _, exposed := s.full[own]; exposed {
		return "", false // what this name stands for is called otherwise
	}
	return own, ok && own != ""
}

// Exposed returns the scope's own names of its exposed channels, in order.
func (s *Scope) Exposed() []string {
	if s == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.full))
}

// Hides returns the full name that a channel has in truth, if this name is one that a scope has exposed under another: nobody hears the
// scope under this one. Empty: the name is good.
func (set Set) Hides(channel string) string {
	for s := set.Of(channel); s != nil; s = s.around {
		if own := strings.TrimPrefix(channel, s.name+"/"); s.full[own] != "" {
			return s.full[own]
		}
	}
	return ""
}

// Calls returns what clients of the scope call a client with this full name. One of the scope has its own name; one from outside has
// the name that it has where both are inside.
func (s *Scope) Calls(client string) string {
	for ; s != nil; s = s.around {
		if own, inside := strings.CutPrefix(client, s.name+"/"); inside {
			return own
		}
	}
	return client
}

// Subscriptions returns the subscriptions to full names that together are a subscription of a client of the scope.
func (s *Scope) Subscriptions(own string) ([]string, error) {
	p, err := metasim.CompilePattern(own)
	switch {
	case err != nil || s == nil:
		return []string{own}, err
	case p.IsName():
		return []string{literal(s.Channel(own))}, nil
	}
	inside := own
	if strings.ContainsAny(own, `^\`) { // it may say where a name begins
		if inside, err = atBegin(own); err != nil {
			return nil, err
		}
	}
	if bare, err := regexp.Compile("^(?:" + own + ")$"); err == nil && !bare.MatchString(own) {
		inside += "|" + regexp.QuoteMeta(own) // an expression is a name too
	}
	all := []string{regexp.QuoteMeta(s.name+"/") + "(?:" + inside + ")"}
	for _, exposed := range s.Exposed() {
		if p.Match(exposed) {
			all = append(all, literal(s.full[exposed]))
		}
	}
	return all, nil
}

// Together groups the subscriptions of a client of the scope. An expression of the client has become several subscriptions to full names: one to the channels of the
// scope, and one to each exposed channel that it matches. These are a group: if one of them brings messages, none is unused. The expression .* is also in its group as
// it was.
func (s *Scope) Together(subscriptions []string) [][]string {
	if s == nil {
		return nil
	}
	var all [][]string
	for _, text := range subscriptions {
		rest, begins := strings.CutPrefix(text, regexp.QuoteMeta(s.name+"/")+"(?:")
		own, ends := strings.CutSuffix(rest, ")")
		p, err := metasim.CompilePattern(own)
		if !begins || !ends || err != nil {
			continue
		}
		group := []string{text}
		for _, exposed := range s.Exposed() {
			if full := literal(s.full[exposed]); p.Match(exposed) && slices.Contains(subscriptions, full) {
				group = append(group, full)
			}
		}
		if own == ".*" {
			group = append(group, own)
		}
		all = append(all, group)
	}
	return all
}

// literal is the subscription to one channel.
func literal(channel string) string { return regexp.QuoteMeta(channel) }

// atBegin returns an expression without the assertions that a name begins where it begins: behind the name of a scope they fail.
func atBegin(text string) (string, error) {
	e, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return "", err
	}
	changed := strip(e)
	if asserts(e) {
		return "", errors.New("it says behind its beginning that a name begins, with ^, which a scenario inside another one cannot tell; write the ^ first, or leave it out")
	}
	if !changed {
		return text, nil
	}
	return e.String(), nil
}

// asserts reports whether an expression says anywhere that a name begins.
func asserts(e *syntax.Regexp) bool {
	return e.Op == syntax.OpBeginText || e.Op == syntax.OpBeginLine || slices.ContainsFunc(e.Sub, asserts)
}

// strip removes these assertions from the beginning of an expression. It reports whether there were any.
func strip(e *syntax.Regexp) (changed bool) {
	switch e.Op {
	case syntax.OpBeginText, syntax.OpBeginLine:
		e.Op, e.Sub, e.Rune = syntax.OpEmptyMatch, nil, nil
		return true
	case syntax.OpConcat:
		for _, sub := range e.Sub {
			changed = strip(sub) || changed
			if sub.Op != syntax.OpEmptyMatch {
				break
			}
		}
	case syntax.OpAlternate, syntax.OpCapture, syntax.OpQuest:
		for _, sub := range e.Sub {
			changed = strip(sub) || changed
		}
	}
	return changed
}

// Glob returns the patterns of full channel names that together are a pattern of a rule of the scope: * stands for any text.
func (s *Scope) Glob(own string, match func(pattern, name string) bool) []string {
	switch {
	case s == nil || own == "":
		return []string{own}
	case !strings.Contains(own, "*"):
		return []string{s.Channel(own)}
	}
	all := []string{s.name + "/" + own}
	for _, exposed := range s.Exposed() {
		if match(own, exposed) {
			all = append(all, s.full[exposed])
		}
	}
	return all
}
