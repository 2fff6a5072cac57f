package sweep

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"

	"metasim/internal/atomicfile"
)

const tableFile = "table.csv"

// maxColumns is how many values of results get a column of their own. All are in the column results.
const maxColumns = 500

// scalars returns the numbers, texts and truth values of the results, each with the name of its client and the keys that lead to it, joined by dots. Where
// two have one name, the first in order of names and keys counts.
func (r *Row) scalars() map[string]any {
	found := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(r.Results)) {
		result := r.Results[name]
		var value any
		d := json.NewDecoder(bytes.NewReader(result))
		d.UseNumber()                            // a large whole number keeps its digits
		if err := d.Decode(&value); err == nil { // a result is JSON: the server refuses anything else
			flatten(found, name, value)
		}
	}
	return found
}

func flatten(found map[string]any, name string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			flatten(found, name+"."+key, v[key])
		}
	case string, json.Number, bool:
		if _, taken := found[name]; !taken {
			found[name] = v
		}
	}
}

// columns returns the names of the scalars of all runs, in order, but those that are in head: a client may be called digest, and whoever reads the table by its
// names would take its result for the digest. It is in the column results.
func (r *results) columns(head []string) ([]string, error) {
	names := map[string]struct{}{}
	err := r.all(func(row *Row) error {
		for name := range row.scalars() {
			names[name] = struct{}{}
		}
		return nil
	})
	for _, name := range head {
		delete(names, name)
	}
	columns := slices.Sorted(maps.Keys(names))
	return columns[:min(len(columns), maxColumns)], err
}

// writeTable writes table.csv: a line for each run that has ended, in the order of their ids.
func writeTable(dir string, p *Plan, r *results) error {
	head := []string{"id"}
	for _, a := range p.Axes {
		head = append(head, a.Path)
	}
	head = append(head, "ok", "error", "digest", "sends_digest", "results_digest", "end_ns", "wall_s", "attempt", "results")
	columns, err := r.columns(head)
	if err != nil {
		return err
	}
	f, err := atomicfile.Create(filepath.Join(dir, tableFile), 0o600)
	if err != nil {
		return err
	}
	w := csv.NewWriter(f)
	err = w.Write(append(head, columns...))
	if err == nil {
		err = r.all(func(row *Row) error { return w.Write(row.record(columns)) })
	}
	w.Flush()
	if err := errors.Join(err, w.Error()); err != nil {
		return errors.Join(fmt.Errorf("the table cannot be written: %w", err), f.Discard())
	}
	return f.Commit()
}

// record is the line of a run in the table.
func (r *Row) record(columns []string) []string {
	line := []string{strconv.Itoa(r.ID)}
	for _, v := range r.Values {
		line = append(line, plainText(v))
	}
	results := "{}"
	if r.Results != nil {
		text, err := json.Marshal(r.Results)
		if err == nil { // what was read as JSON can be written as JSON
			results = string(text)
		}
	}
	line = append(line, strconv.FormatBool(r.OK), r.Error, r.Digest, r.SendsDigest, r.ResultsDigest, strconv.FormatInt(r.EndNS, 10),
		strconv.FormatFloat(r.WallS, 'g', 6, 64), strconv.Itoa(r.Attempt), results)
	scalars := r.scalars()
	for _, name := range columns {
		text := ""
		switch v := scalars[name].(type) {
		case string:
			text = v
		case json.Number:
			text = v.String()
		case bool:
			text = strconv.FormatBool(v)
		}
		line = append(line, text)
	}
	return line
}

// plainText is a value without the quotes of JSON.
func plainText(v json.RawMessage) string {
	var text string
	if json.Unmarshal(v, &text) == nil {
		return text
	}
	return string(v)
}
