package delay

import "fmt"

// A FieldError says which field of a Spec is wrong, why, and what to write instead.
type FieldError struct {
	Field string // as a scenario spells it, from the rule on: "delay.normal.min"
	Text  string // one sentence, which names the value
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Text }

func fieldError(field, format string, args ...any) error {
	return &FieldError{Field: field, Text: fmt.Sprintf(format, args...)}
}

// checkProbability returns a *FieldError for what is no probability.
func checkProbability(field string, p float64) error {
	if !(p >= 0 && p <= 1) { // so that NaN is none either
		return fieldError(field, "%v is not a probability; use a number from 0 to 1 (5 percent is 0.05)", p)
	}
	return nil
}
