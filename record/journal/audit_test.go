package journal

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"metasim/metasim"
)

// TestEveryTypeIsJournaled reads the source of metasim: a new event or effect must have its case here.
func TestEveryTypeIsJournaled(t *testing.T) {
	assert.ElementsMatch(t, implementers(t, "client"), typeNames(events()), "an event of metasim is not journaled: "+
		"give it a message and a field of Record in journalpb/journal.proto (go generate), a field number in messages.go, "+
		"a case in eventRow and in newEvent, and a value in events of journal_test.go")
	assert.ElementsMatch(t, implementers(t, "effect"), typeNames(effects()), "an effect of metasim is not journaled: "+
		"give it a message and a field of Effect in journalpb/journal.proto (go generate), a field number in messages.go, "+
		"a case in effectRow and in newEffect, and a value in effects of journal_test.go")
}

// implementers returns the types of package metasim that have a method without parameters.
func implementers(t *testing.T, method string) (names []string) {
	files, err := filepath.Glob("../../metasim/*.go")
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, decl := range tree.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv == nil || f.Name.Name != method || f.Type.Params.NumFields() > 0 {
				continue
			}
			recv := f.Recv.List[0].Type
			if star, ok := recv.(*ast.StarExpr); ok {
				recv = star.X
			}
			names = append(names, recv.(*ast.Ident).Name)
		}
	}
	require.NotEmpty(t, names, "the source of metasim was not found")
	return names
}

func typeNames[T any](values []T) (names []string) {
	for _, v := range values {
		names = append(names, reflect.TypeOf(v).Elem().Name())
	}
	return names
}

// TestEveryFieldIsJournaled fills every field of every type: what the journal forgets comes back as its zero.
func TestEveryFieldIsJournaled(t *testing.T) {
	const hint = "%T does not come back as it was: has it a new field that messages.go does not know?"
	for _, zero := range events() {
		for _, ev := range []metasim.Event{filled(zero), zero} {
			got, err := read(write(t, Entry{Wall: -3, Event: ev}))
			require.NoError(t, err)
			require.Equal(t, []Entry{{Wall: -3, Event: ev}}, got, hint, ev)
		}
	}
	for _, zero := range effects() {
		for _, e := range []metasim.Effect{filled(zero), zero} {
			before := history(&e)
			entries := append(before, Entry{Wall: 1 << 60, Effects: []metasim.Effect{e}})
			got, err := read(write(t, entries...))
			require.NoError(t, err)
			require.Equal(t, entries, got, hint, e)
		}
	}
}

// history returns the entries that must come before an effect: what it tells of a message was sent and queued. Fields
// that mean nothing are cleared.
func history(e *metasim.Effect) []Entry {
	var m metasim.Message
	var to metasim.ClientID
	switch eff := (*e).(type) {
	case *metasim.Queue:
		m, to = eff.Message, eff.To
	case *metasim.Authorize:
		eff.QuietUntil = metasim.Start // a hint: it is not kept
		return nil
	case *metasim.Lose:
		eff.Message.Due = metasim.Start
		m, to = eff.Message, eff.To
	case *metasim.Deliver:
		m, to = eff.Message, eff.To
	default:
		return nil
	}
	queued := []metasim.Effect{&metasim.Queue{To: to, Message: m}}
	ev := &metasim.Send{Client: m.From, Channel: m.Channel, Sent: m.Sent, Payload: m.Payload}
	earlier := slices.Repeat([]Entry{{Event: &metasim.Send{Client: m.From}}}, int(m.Seq))
	return append(earlier, Entry{Event: ev, Effects: queued})
}
