package record

import (
	"fmt"
	"slices"
	"strings"
)

// SharedClients returns the clients that both runs have, in their order in a, and an error that names those that one run alone has; nil if
// there are none.
func SharedClients(a, b *Run) (shared []string, others *OtherClientsError) {
	onlyA, onlyB := without(a.Manifest.Clients, b.Manifest.Clients), without(b.Manifest.Clients, a.Manifest.Clients)
	if len(onlyA)+len(onlyB) > 0 {
		others = &OtherClientsError{A: onlyA, B: onlyB}
	}
	return without(a.Manifest.Clients, onlyA), others
}

// without returns the names that are not among others.
func without(names, others []string) []string {
	among := map[string]bool{}
	for _, name := range others {
		among[name] = true
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return among[name] })
}

// An OtherClientsError tells that two runs do not have the same clients.
type OtherClientsError struct{ A, B []string } // those that one run alone has

func (e *OtherClientsError) Error() string {
	var only []string
	for i, names := range [][]string{e.A, e.B} {
		if len(names) > 0 {
			only = append(only, fmt.Sprintf("only %c has %s", 'A'+i, quoted(names)))
		}
	}
	return fmt.Sprintf("the runs do not have the same clients: %s; compare those that both have with --anyway", strings.Join(only, ", "))
}

// shownNames is how many names an error lists.
const shownNames = 5

func quoted(names []string) string {
	text := fmt.Sprintf("%q", names[:min(len(names), shownNames)])
	text = strings.ReplaceAll(text[1:len(text)-1], `" "`, `", "`)
	if more := len(names) - shownNames; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
