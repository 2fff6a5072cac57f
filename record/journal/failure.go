package journal

import (
	"errors"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"metasim/metasim"
)

// This file writes and reads errors: why a client was evicted, and why a run failed. The text is always kept; of metasim's own errors
// the fields too, so that a program that reads the journal can use errors.As.

// appendError appends the text of err, and the error of metasim that it is or wraps.
func appendError(b []byte, num protowire.Number, err error) []byte {
	if err == nil {
		return b
	}
	b, at := begin(b, num)
	b = appendText(b, 1, err.Error())
	var violation *metasim.Violation
	var steps *metasim.StepsError
	switch {
	case errors.As(err, &violation):
		b = appendViolation(b, 2, violation)
	case errors.As(err, &steps):
		var inner int
		b, inner = begin(b, 3)
		b = appendInstant(b, 1, steps.At)
		b = appendVarint(b, 2, uint64(steps.MaxSteps))
		b = end(appendText(b, 3, steps.Cycle), inner)
	}
	return end(b, at)
}

func appendViolation(b []byte, num protowire.Number, v *metasim.Violation) []byte {
	if v == nil {
		return b
	}
	b, at := begin(b, num)
	b = appendVarint(b, 1, uint64(v.Rule))
	b = appendText(b, 2, v.Client)
	b = appendText(b, 3, v.Channel)
	b = appendInstant(b, 4, v.At)
	return end(appendInstant(b, 5, v.Bound), at)
}

// A recordedError is an error that was read: its text, and the error of metasim that it wrapped, if any.
type recordedError struct {
	text  string
	cause error
}

func (e *recordedError) Error() string { return e.text }
func (e *recordedError) Unwrap() error { return e.cause }

// restore returns the error of a text and a typed cause, which may be nil: the cause itself where its text is the same.
func restore(text string, cause error) error {
	text = strings.TrimPrefix(text, "metasim: ") // journals of earlier versions have it
	if cause != nil && cause.Error() == text {
		return cause
	}
	return &recordedError{text: text, cause: cause}
}
