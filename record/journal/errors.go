package journal

import (
	"errors"
	"fmt"

	"metasim/metasim"
)

// ErrNotJournal tells that a file is something else.
var ErrNotJournal = errors.New("journal: this file is no journal of metasim; " +
	"name the file called journal in the directory of a run")

// ErrNoJournal tells that a run was carried out without a journal: there is its manifest, with its digest, and no more.
var ErrNoJournal = errors.New("journal: there is no journal of the run, as it was carried out with --no-journal; " +
	"carry it out again without that")

// ErrForeign tells that an entry has a client that the manifest does not name.
var ErrForeign = errors.New("the journal has a client that the manifest does not name; they are not of one run")

// A VersionError tells that a journal is of another version of the format.
type VersionError struct{ Version uint32 }

func (e *VersionError) Error() string {
	return fmt.Sprintf("journal: this journal has format %d, and format %d is read here; "+
		"read it with the metasim that wrote it", e.Version, Version)
}

// A TornError tells that a journal is damaged, or was cut off while it was written. Everything before Offset was
// returned; what comes after it is lost. If a run was killed, that is its end.
//
// The last entry before it may lack effects: they can lie in a record of their own.
type TornError struct {
	Offset  int64  // in bytes from the start of the file: where the good part ends
	Records int64  // how many records the good part has
	Reason  string // what is wrong there
}

func (e *TornError) Error() string {
	return fmt.Sprintf("journal: good up to byte %d (%d records), and not from there on: %s",
		e.Offset, e.Records, e.Reason)
}

// A recordedError is an error of another process: its text, and the error of metasim that it wrapped, if any.
type recordedError struct {
	text  string
	cause error
}

func (e *recordedError) Error() string { return e.text }
func (e *recordedError) Unwrap() error { return e.cause }

// restore makes an error of what is in a journal: the typed one itself if that says the same.
func restore(text string, violation *metasim.Violation, steps *metasim.StepsError) error {
	var cause error
	switch {
	case violation != nil:
		cause = violation
	case steps != nil:
		cause = steps
	}
	if cause != nil && cause.Error() == text {
		return cause
	}
	return &recordedError{text: text, cause: cause}
}
