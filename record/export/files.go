package export

import (
	"cmp"
	"errors"
	"io"
	"strconv"

	"metasim/lcm/types"
	"metasim/record"
	"metasim/record/journal"
)

// Options say what is exported of a run, and into which files.
type Options struct {
	Log   string   // the path of an LCM event log; empty: none
	Of    Kind     // what the log has: Sent (also the zero value) or Delivered
	Plain bool     // deliveries are on the channels of the clients in the log, without their names
	MCAP  string   // the path of an MCAP file; empty: none
	Types []string // directories of .lcm files, for the MCAP file
	// Client is the name of the only client that is exported; empty for all.
	Client string
	// Stdout is where the file - goes.
	Stdout io.Writer
}

// Standard is the path that stands for standard output.
const Standard = "-"

// Files is an export that has begun.
type Files struct {
	run     *record.Run
	journal *record.Journal
	files   []file
}

// A file is a sink with the file that it writes.
type file struct {
	output
	sink sink
}

// An output is a file until it is complete.
type output interface {
	io.Writer
	Path() string
	Commit() error
	Discard() error
}

// standard is standard output, which stays open.
type standard struct{ io.Writer }

func (standard) Path() string   { return Standard }
func (standard) Commit() error  { return nil }
func (standard) Discard() error { return nil }

// Open opens the journal of a run and begins the files. Discard must be called in the end.
func Open(run *record.Run, o Options) (*Files, error) {
	reader, err := run.OpenJournal()
	if err != nil {
		return nil, err
	}
	f := &Files{run: run, journal: reader}
	if err := f.begin(o); err != nil {
		return nil, errors.Join(err, f.Discard())
	}
	return f, nil
}

func (f *Files) begin(o Options) error {
	m := f.run.Manifest
	v, err := newView(m.Clients, o.Client)
	if err != nil {
		return err
	}
	if o.Log != "" {
		if err := f.add(o, o.Log, func(w io.Writer) (sink, error) { return newEventLog(w, v, cmp.Or(o.Of, Sent), o.Plain), nil }); err != nil {
			return err
		}
	}
	if o.MCAP == "" {
		return nil
	}
	var known *types.Set
	if len(o.Types) > 0 {
		if known, err = types.Load(o.Types...); err != nil {
			return err
		}
	}
	return f.add(o, o.MCAP, func(w io.Writer) (sink, error) { return newMCAPFile(w, v, known, about(m)) })
}

// add begins a file.
func (f *Files) add(o Options, path string, begin func(io.Writer) (sink, error)) error {
	var out output = standard{o.Stdout}
	if path != Standard {
		created, err := record.CreateFile(path, f.run.Dir.Path())
		if err != nil {
			return err
		}
		out = created
	}
	sink, err := begin(out)
	f.files = append(f.files, file{output: out, sink: sink})
	return err
}

// about is what an MCAP file says of a run: what all its repetitions have in common.
func about(m *journal.Manifest) map[string]string {
	return map[string]string{
		"scenario": m.Scenario,
		"seed":     strconv.FormatUint(m.Seed, 10),
		"until_ns": strconv.FormatInt(int64(m.Until), 10),
		"digest":   m.Digest,
	}
}

// Write reads the journal to its end and writes the files. It calls written with each file that is complete. Torn is an error of a journal
// that is not the whole of its run, of which the files have what there is: a *[journal.TornError] or a *[record.DigestError].
func (f *Files) Write(written func(path string, c Count)) (torn, err error) {
	var kinds kindSet
	for _, file := range f.files {
		kinds |= file.sink.Kinds()
	}
	torn, err = walkJournal(f.run.Manifest.Clients, f.journal, kinds, func(o *occurrence) error {
		for _, file := range f.files {
			if err := file.sink.Write(o); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return torn, err
	}
	for _, file := range f.files {
		if err := errors.Join(file.sink.Close(), file.Commit()); err != nil {
			return torn, err
		}
		written(file.Path(), file.sink.Count())
	}
	return torn, nil
}

// Discard closes the journal and removes the files that are not complete.
func (f *Files) Discard() error {
	_ = f.journal.Close() // a file that was only read
	var err error
	for _, file := range f.files {
		err = errors.Join(err, file.Discard())
	}
	return err
}
