package run

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"metasim/internal/problem"
	"metasim/internal/scope"
	"metasim/metasim"
	"metasim/scenarios"
	"metasim/scenarios/flow"
)

// unheardChannel is the kind of a Warning about a channel that nobody subscribes to.
const unheardChannel = "unheard-channel"

// A channelCheck looks for what clients declared in vain: a subscription that no client publishes, a channel that no client
// subscribes to. As an observer of the server it only notes the declarations. They are compared later, outside of the server's turn,
// when all clients have joined.
type channelCheck struct {
	declared []flow.Declaration // by ClientID
	scopes   scope.Set
	begun    chan struct{} // closed when all have joined
}

func newChannelCheck(sc *scenarios.Scenario, names []string) *channelCheck {
	c := &channelCheck{begun: make(chan struct{}), scopes: sc.Scopes}
	bridges := sc.RealTime()
	for _, name := range names {
		c.declared = append(c.declared, flow.Declaration{Client: name, Bridge: slices.Contains(bridges, name)})
	}
	return c
}

// Observe implements server.Observer.
func (c *channelCheck) Observe(_ int64, ev metasim.Event, _ []metasim.Effect) error {
	switch ev := ev.(type) {
	case *metasim.Join:
		d := &c.declared[ev.Client]
		d.Publications, d.Subscriptions, d.Together = ev.Publications, ev.Subscriptions, c.scopes.Of(d.Client).Together(ev.Subscriptions)
	case *metasim.Begin:
		close(c.begun)
	}
	return nil
}

// strictError ends a strict run.
func strictError(warnings []Warning) error {
	return errors.New("the run is strict, and its channels do not fit together:\n  " +
		strings.Join(shortened(texts(warnings), "without --strict"), "\n  "))
}

func texts(warnings []Warning) []string {
	var all []string
	for _, w := range warnings {
		all = append(all, w.Text)
	}
	return all
}

// shortened returns the first lines, and a last line that says how many more there are and where.
func shortened(lines []string, where string) []string {
	const most = 12
	if more := len(lines) - most; more > 1 {
		lines = append(lines[:most:most], fmt.Sprintf("and %d more: see %s", more, where))
	}
	return lines
}

// warnings says what was declared in vain: one line for each probable typing error, one for all other subscriptions of the same
// clients, and one for all channels that nobody hears. If the run is shown on a public network, nobody knows who hears a channel; so
// that line is left out.
func warnings(declared []flow.Declaration, shown bool) []Warning {
	ends, complete := flow.LooseEnds(declared)
	if !complete {
		return []Warning{{problem.UnusedSubscription, "too many regular expressions and channels: subscriptions that match nothing are not looked for"}}
	}
	var all []Warning // without those of channels
	var unheard []string
	groups, last := map[string][]string{}, map[string]int{} // what the same clients subscribe to, and the last of it in ends
	for i, e := range ends {
		by := strings.Join(e.Clients, "\n")
		switch {
		case e.Unheard && shown:
		case e.Meant != "" || e.Impossible:
			all = append(all, mistake(&e))
		case e.Unheard:
			unheard = append(unheard, fmt.Sprintf("%s of %s", name(e.Name), list(e.Clients, 1)))
		default:
			groups[by], last[by] = append(groups[by], name(e.Name)), i
		}
	}
	for i, e := range ends {
		by := strings.Join(e.Clients, "\n")
		if at, grouped := last[by]; grouped && at == i {
			all = append(all, Warning{problem.UnusedSubscription, subscribing(&e) + list(groups[by], most) + ", which nobody publishes"})
		}
	}
	if more := len(all) - mostWarnings; more > 0 {
		all = append(all[:mostWarnings], Warning{problem.UnusedSubscription, fmt.Sprintf("%d more subscriptions match nothing", more)})
	}
	switch len(unheard) {
	case 0:
	case 1:
		all = append(all, Warning{unheardChannel, "nobody subscribes to " + unheard[0]})
	default:
		all = append(all, Warning{unheardChannel, fmt.Sprintf("nobody subscribes to %d channels: %s", len(unheard), list(unheard, most))})
	}
	return all
}

// mostWarnings is how many lines say what a subscription lacks.
const mostWarnings = 100

// mistake says what is probably wrong with a name or an expression.
func mistake(e *flow.LooseEnd) Warning {
	switch {
	case e.Unheard:
		return Warning{unheardChannel, fmt.Sprintf("nobody subscribes to %s of %s; did you mean %s?", name(e.Name), list(e.Clients, most), name(e.Meant))}
	case e.Meant != "":
		return Warning{problem.UnusedSubscription, fmt.Sprintf("%s%s, which nobody publishes; did you mean %s?", subscribing(e), name(e.Name), name(e.Meant))}
	}
	return Warning{problem.UnusedSubscription, fmt.Sprintf("%s%s, which no channel can match; mend the expression", subscribing(e), name(e.Name))}
}

// subscribing is the beginning of a sentence.
func subscribing(e *flow.LooseEnd) string {
	if len(e.Clients) > 1 {
		return list(e.Clients, most) + " subscribe to "
	}
	return e.Clients[0] + " subscribes to "
}

// most is how many names of a list are shown.
const most = 5

// list writes names: "a, b and 3 more".
func list(names []string, most int) string {
	if more := len(names) - most; more > 1 || more == 1 && most == 1 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	}
	return names[0]
}

// name quotes a name or an expression that could be taken for something else.
func name(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsGraphic(r) || unicode.IsSpace(r) || r == ',' || r == ';' || r == '"'
	}) {
		return fmt.Sprintf("%q", s)
	}
	return s
}
