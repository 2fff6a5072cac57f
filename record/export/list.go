package export

import (
	"metasim/metasim"
	"metasim/record"
)

// Messages calls each with the messages of a run: those that were due in the order of (due, recipient, delivery), then those that were lost
// in that of (sent, sender, number, recipient). With a client only those from it or to it. Torn is as of [Files.Write].
//
// It needs memory as an export does, however long the run is: where messages were lost it reads the journal a second time.
func Messages(run *record.Run, client string, each func(*record.Message) error) (torn, err error) {
	v, err := newView(run.Manifest.Clients, client)
	if err != nil {
		return nil, err
	}
	l := &list{view: v, each: each}
	if torn, err = l.read(run, kindsOf(Delivered, Undelivered, Lost), (*occurrence).wasDue); err != nil || l.lost == 0 {
		return torn, err
	}
	return l.read(run, kindsOf(Lost), func(*occurrence) bool { return true })
}

// A list hands on messages.
type list struct {
	view
	each func(*record.Message) error
	lost int // messages
}

// read hands on the messages that are wanted, of these kinds.
func (l *list) read(run *record.Run, kinds kindSet, wanted func(*occurrence) bool) (torn, err error) {
	journal, err := run.OpenJournal()
	if err != nil {
		return nil, err
	}
	defer func() { _ = journal.Close() }() // a file that was only read
	return walkJournal(l.names, journal, kinds, func(o *occurrence) error {
		if !l.all && o.Message.From != l.only && o.To != l.only {
			return nil
		}
		if o.Kind == Lost {
			l.lost++
		}
		if !wanted(o) {
			return nil
		}
		var due *metasim.Instant
		if o.wasDue() {
			at := o.Message.Due // the occurrence is not kept
			due = &at
		}
		m := run.Message(o.To, &o.Message, due)
		m.Undelivered = o.Kind == Undelivered
		return l.each(&m)
	})
}
