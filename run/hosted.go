package run

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"metasim/server"
)

// What the clients of the outer run have to do with nested runs in processes of their own: they are started, placed and lost as clients are.

// hostedCells are nested runs as the clients of the outer run are: processes, each on a host.
type hostedCells struct {
	all           []hostedCell
	server, token string // where they join
}

// helloGrace is how long the server has to read what a process said before it died, when it may be replaced. If the Hello of a dead process is
// read later, the client is started once more, which is all that comes of it.
const helloGrace = 100 * time.Millisecond

// lastWords is how long what a process has said before it ended may take to be read.
const lastWords = 5 * time.Second

// A hostedCell is one of them.
type hostedCell struct {
	name  string
	own   []string      // its clients, in order
	met   chan struct{} // closed when its process has come
	heard chan struct{} // closed when all that its process has said is read
}

// cellModel is the model of a client of the outer run that is a nested run.
const cellModel = "scenario"

// groups returns the nested runs as groups of clients, one each.
func (h *hostedCells) groups() (all []group) {
	if h == nil {
		return nil
	}
	for _, f := range h.all {
		all = append(all, group{{Name: f.name, Entry: f.name, Model: cellModel}})
	}
	return all
}

// of returns the nested run of a name; nil of a client.
func (h *hostedCells) of(name string) *hostedCell {
	if h == nil {
		return nil
	}
	for i := range h.all {
		if h.all[i].name == name {
			return &h.all[i]
		}
	}
	return nil
}

// own returns the clients of a nested run; none of a client.
func (h *hostedCells) own(name string) []string {
	if f := h.of(name); f != nil {
		return f.own
	}
	return nil
}

// hear waits until all is read that the ended process of a nested run has said: why it has failed may be on the way still. Of a client it waits for nothing.
func (h *hostedCells) hear(name string) {
	if f := h.of(name); f != nil && within(f.met, helloGrace) {
		within(f.heard, lastWords)
	}
}

// lost says that the process of a nested run was lost, if that is why the run failed.
func (h *hostedCells) lost(err error) error {
	lost := new(server.LostError)
	if !errors.As(err, &lost) || h.own(lost.Client) == nil {
		return nil
	}
	how := cmp.Or(lost.Process.Exit, lost.Cause)
	if n := len(lost.Process.Output); n > 0 {
		how += "; its last words: " + lost.Process.Output[n-1]
	}
	return fmt.Errorf("the process of the scenario inside %q was lost at %v (%s); carry the run out again, or without --nested: such a run can be resumed", lost.Client, lost.Now, how)
}
