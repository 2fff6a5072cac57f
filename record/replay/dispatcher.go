package replay

import (
	"bytes"
	"errors"
	"io"

	"metasim/metasim"
	"metasim/record"
	"metasim/record/journal"
)

// An Audit is the result of replaying a dispatcher.
type Audit struct {
	Entries, Events, Effects uint64 // that were checked
	// Digests are those of what was checked: of the run, if the journal is whole.
	journal.Digests
	// Torn is the *journal.TornError at which the journal breaks off, if it does. What is before that was checked.
	Torn error
	// Difference is the first; nil if there is none.
	Difference *Difference
}

// Dispatcher steps a fresh dispatcher, with the delays of the recorded scenario, through every event of the run's
// journal, and compares every effect with what was recorded. The error tells why that could not be done.
func Dispatcher(r *record.Run) (*Audit, error) {
	config, err := r.Config()
	if err != nil {
		return nil, err
	}
	d, err := metasim.New(config)
	if err != nil {
		return nil, err
	}
	reader, err := r.OpenJournal()
	if err != nil {
		return nil, err
	}
	defer func() { _ = reader.Close() }() // a file that was only read
	a := &audit{run: r, dispatcher: d, ledger: metasim.NewLedger(d.Names())}
	if err := a.read(reader); err != nil {
		return nil, err
	}
	var results [][]byte
	for i := range r.Manifest.Clients {
		results = append(results, a.ledger.Account(metasim.ClientID(i)).Result)
	}
	a.Digests = journal.Digests{
		Digest: a.ledger.Digest().String(), SendsDigest: a.ledger.SendsDigest().String(),
		ResultsDigest: journal.ResultsDigest(r.Manifest.Clients, results).String(),
	}
	if a.Difference == nil && a.Torn == nil && !r.Killed() {
		a.checkDigests()
	}
	return &a.Audit, nil
}

// checkDigests compares the digests with those of the manifest. A run that was recorded before there were three of them has one.
func (a *audit) checkDigests() {
	then := a.run.Manifest.Digests
	if differ := then.Differ(a.Digests); len(differ) > 0 {
		text := func(d journal.Digests) string {
			return map[string]string{"deliveries": d.Digest, "sends": d.SendsDigest, "results": d.ResultsDigest}[differ[0]]
		}
		a.Difference = &Difference{Where: "the digest of the " + differ[0], Then: text(then), Now: text(a.Digests)}
	}
}

type audit struct {
	Audit
	run        *record.Run
	dispatcher *metasim.Dispatcher
	ledger     *metasim.Ledger
	then, now  []byte // memory of check
}

// read goes through the journal, up to the first difference. It is one entry behind the reader, as the last entry of a
// torn journal may lack effects.
func (a *audit) read(r *record.Journal) error {
	last, err := r.Reader.Next() // the digests are those of the new effects
	for err == nil && a.Difference == nil {
		var next journal.Entry
		next, err = r.Reader.Next()
		if e := a.check(&last, errors.As(err, new(*journal.TornError))); e != nil {
			return e
		}
		last = next
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, io.EOF):
		a.Torn = r.CheckEnd()
		return nil
	case errors.As(err, new(*journal.TornError)):
		a.Torn = err
		return nil
	}
	return err
}

// check does one entry again.
func (a *audit) check(e *journal.Entry, torn bool) error {
	var effects []metasim.Effect
	if e.Event != nil {
		a.Events++
		effects = a.dispatcher.Step(e.Event)
	} else {
		effects = a.dispatcher.Settle()
	}
	a.ledger.Observe(e.Event, effects)
	a.Entries++
	if torn && len(effects) > len(e.Effects) {
		effects = effects[:len(e.Effects)]
	}
	a.Effects += uint64(len(effects))
	for i := range max(len(e.Effects), len(effects)) {
		var err, err2 error
		a.then, err = appendEffect(a.then[:0], e.Effects, i)
		a.now, err2 = appendEffect(a.now[:0], effects, i)
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		if !bytes.Equal(a.then, a.now) {
			w := words{a.run.Manifest.Clients}
			a.Difference = &Difference{Where: w.entry(a.Entries, e, i), Then: w.effect(e.Effects, i), Now: w.effect(effects, i)}
			return nil
		}
	}
	return nil
}

// appendEffect encodes effects[i] as in a journal and appends it to b. If there is no effect i, it appends nothing.
func appendEffect(b []byte, effects []metasim.Effect, i int) ([]byte, error) {
	if i >= len(effects) {
		return b, nil
	}
	return journal.AppendEffect(b, effects[i])
}
