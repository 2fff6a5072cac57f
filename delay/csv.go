package delay

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"

	"metasim/metasim"
)

// maxRows is how many delays one file may hold.
const maxRows = 100_000

// A CSVError says where a file of delays is wrong, why, and what to write instead.
type CSVError struct {
	File         string
	Line, Column int // from 1; Column counts bytes
	Text         string
}

func (e *CSVError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Text)
}

// ReadCSV reads a list of measured delays. The first line names the columns; exactly one of them holds the delays, and
// the others are passed over:
//
//	delay                                     durations with their units, as in 5ms or 1.5s (ParseDuration)
//	delay_ns, delay_us, delay_ms, delay_s     bare numbers in that unit, as in 12.5 or 3e-05, rounded to nanoseconds
//
// Empty lines and lines that begin with # do not count. Name is for errors only; they are of type *CSVError, and the
// first one ends the reading.
func ReadCSV(name string, data []byte) (Empirical, error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(data, []byte("\ufeff"))))
	r.Comment = '#'
	r.TrimLeadingSpace = true
	r.ReuseRecord = true
	header, err := r.Read()
	if err == io.EOF {
		return nil, &CSVError{name, 1, 1,
			"the file is empty; name the column, delay_ms for example, and write the delays below"}
	}
	if err != nil {
		return nil, malformed(name, err)
	}
	column, parse, err := delayColumn(header)
	if err != nil {
		return nil, at(name, r, 0, err)
	}
	var delays Empirical
	for {
		row, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, malformed(name, err)
		}
		if len(delays) == maxRows {
			return nil, at(name, r, 0, fmt.Errorf("the file has more than %d delays; take a sample of them", maxRows))
		}
		t, err := parse(strings.TrimSpace(row[column]))
		if err != nil {
			return nil, at(name, r, column, err)
		}
		delays = append(delays, t)
	}
	if len(delays) == 0 {
		return nil, at(name, r, 0, errors.New("the file names a column and holds no delay; write one at least below"))
	}
	return delays, nil
}

// delayColumn finds the one column of delays, and how its values are read.
func delayColumn(header []string) (column int, parse func(string) (metasim.Time, error), err error) {
	column = -1
	for i, name := range header {
		name = strings.TrimSpace(name)
		unit, bare := strings.CutPrefix(name, "delay_")
		var of func(string) (metasim.Time, error)
		switch {
		case name == "delay":
			of = ParseDuration
		case bare && (unit == "ns" || unit == "us" || unit == "ms" || unit == "s"):
			of = func(s string) (metasim.Time, error) { return parseNumber(s, timeUnits[unit]) }
		default:
			continue
		}
		if column >= 0 {
			return 0, nil, fmt.Errorf("the columns %s and %s both hold delays; keep one of them",
				quote(strings.TrimSpace(header[column])), quote(name))
		}
		column, parse = i, of
	}
	if column < 0 {
		return 0, nil, errors.New("the first line names no column of delays; call it delay (values such as 5ms), " +
			"or delay_ns, delay_us, delay_ms or delay_s (bare numbers)")
	}
	return column, parse, nil
}

// parseNumber reads a bare number in a unit, as programs write it, and rounds it to the nearest nanosecond, halves up:
// a measurement has as many digits as its program printed.
func parseNumber(s string, unit metasim.Time) (metasim.Time, error) {
	mantissa, exponent, scientific := strings.Cut(strings.ToLower(s), "e")
	_, ok := decimal(mantissa)
	power := 0
	if scientific {
		n, err := strconv.Atoi(exponent)
		ok = ok && err == nil
		power = n
	}
	switch {
	case strings.HasPrefix(s, "-"):
		return 0, fmt.Errorf("%s is negative; a delay is 0 or more", quote(s))
	case !ok:
		return 0, fmt.Errorf("%s is not a number; write one such as 12.5, without a unit, as the column has it", quote(s))
	case power > maxDigits:
		return 0, fmt.Errorf("%s does not fit; use a shorter delay", quote(s))
	case power < -2*maxDigits:
		return 0, nil // less than half a nanosecond, whatever the mantissa
	}
	value, _ := new(big.Rat).SetString(s) // both of its parts are right
	value.Mul(value, big.NewRat(int64(unit), 1))
	value.Add(value, big.NewRat(1, 2))
	ns := new(big.Int).Quo(value.Num(), value.Denom())
	if !fits(ns) {
		return 0, fmt.Errorf("%s does not fit; use a shorter delay", quote(s))
	}
	return metasim.Time(ns.Int64()), nil
}

// at says where in the record that was just read an error lies.
func at(name string, r *csv.Reader, field int, err error) error {
	line, column := r.FieldPos(field)
	return &CSVError{name, line, column, err.Error()}
}

// malformed turns an error of the CSV itself into one of ours.
func malformed(name string, err error) error {
	var parse *csv.ParseError
	if !errors.As(err, &parse) {
		return fmt.Errorf("%s: %w", name, err) // the reader reads from memory: it has no other
	}
	text := parse.Err.Error()
	switch parse.Err {
	case csv.ErrFieldCount:
		text = "this line has another number of columns than the first; give each line as many"
	case csv.ErrQuote, csv.ErrBareQuote:
		text = "a quotation mark is out of place; write the number without one"
	}
	return &CSVError{name, parse.Line, parse.Column, text}
}
