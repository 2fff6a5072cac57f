package show

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"metasim/analysis/parquet"
	"metasim/analysis/report"
	"metasim/analysis/trace"
	"metasim/metasim"
)

// CSV writes tables for other programs to a directory, which is made if it is not there: clients.csv, links.csv, grants.csv, holds.csv and
// messages.csv. The first line of each names its columns; docs/report.md says what they are. Wall-clock times are nanoseconds since the run
// began, simulated times nanoseconds and steps. An empty cell is a time that never comes, or a client that there is not. CSV overwrites files
// of these names. Grants, holds and messages are those that the timeline stores.
func CSV(dir string, t *trace.Timeline, r *report.Report) error {
	return writeTables(dir, ".csv", tables(t, r), func(w io.Writer, table *table) error { return writeCSV(w, table) })
}

// Parquet writes the same tables as files in the format of Parquet: clients.parquet, and so on. by is the program that makes them.
func Parquet(dir, by string, t *trace.Timeline, r *report.Report) error {
	return writeTables(dir, ".parquet", tables(t, r), func(w io.Writer, table *table) error { return parquet.Write(w, by, table.rows, table.columns) })
}

func writeTables(dir, ending string, tables []table, write func(io.Writer, *table) error) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for i := range tables {
		f, err := os.Create(filepath.Join(dir, tables[i].name+ending))
		if err != nil {
			return err
		}
		if err := errors.Join(write(f, &tables[i]), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// writeCSV writes a table as CSV.
func writeCSV(to io.Writer, t *table) error {
	buffer := bufio.NewWriterSize(to, 1<<16)
	w := csv.NewWriter(buffer)
	cells := make([]string, len(t.columns))
	for i := range t.columns {
		cells[i] = t.columns[i].Name
	}
	err := w.Write(cells)
	for row := 0; row < t.rows && err == nil; row++ {
		for i := range t.columns {
			cells[i] = cell(&t.columns[i], row)
		}
		err = w.Write(cells)
	}
	w.Flush()
	return cmp.Or(err, w.Error(), buffer.Flush())
}

// cell returns a cell as text.
func cell(c *parquet.Column, row int) string {
	switch {
	case c.Int != nil:
		if v, ok := c.Int(row); ok {
			return strconv.FormatInt(v, 10)
		}
	case c.Float != nil:
		if v, ok := c.Float(row); ok {
			return strconv.FormatFloat(v, 'g', -1, 64)
		}
	default:
		v, _ := c.Text(row) // an empty cell has no text
		return v
	}
	return ""
}

// A table is what one file has.
type table struct {
	name    string
	rows    int
	columns []parquet.Column
}

func tables(t *trace.Timeline, r *report.Report) []table {
	return []table{
		{"clients", len(r.Clients), fieldColumns(r.Clients)}, {"links", len(r.Links), fieldColumns(r.Links)},
		{"grants", len(t.Grants), grants(t)}, holds(t), {"messages", len(t.Messages), messages(t)},
	}
}

// fieldColumns has a column for each field of a report that is one number or text, by its name in JSON.
func fieldColumns[T any](all []T) (columns []parquet.Column) {
	for k, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		c := parquet.Column{Name: name}
		field := func(row int) reflect.Value { return reflect.ValueOf(&all[row]).Elem().Field(k) }
		switch f.Type.Kind() {
		case reflect.Slice:
			continue
		case reflect.Int64:
			c.Int = func(row int) (int64, bool) { return field(row).Int(), true }
		case reflect.Uint64:
			c.Int = func(row int) (int64, bool) { return int64(field(row).Uint()), true }
		case reflect.Float64:
			c.Float = func(row int) (float64, bool) { return field(row).Float(), true }
		case reflect.String:
			c.Text = func(row int) (string, bool) { return field(row).String(), true }
		default:
			panic(fmt.Sprintf("a table has no cells for the field %s", f.Name))
		}
		columns = append(columns, c)
	}
	return columns
}

func integer(name string, of func(row int) int64) parquet.Column {
	return parquet.Column{Name: name, Int: func(row int) (int64, bool) { return of(row), true }}
}

// textual has empty cells where there is no text.
func textual(name string, of func(row int) string) parquet.Column {
	return parquet.Column{Name: name, Text: func(row int) (string, bool) { s := of(row); return s, s != "" }}
}

// simulated has a column for a simulated time and one for its step, which are empty for what never comes.
func simulated(name string, of func(row int) metasim.Instant) []parquet.Column {
	part := func(part string, n func(metasim.Instant) int64) parquet.Column {
		return parquet.Column{Name: name + part, Int: func(row int) (int64, bool) { at := of(row); return n(at), at.Time != metasim.Forever }}
	}
	return []parquet.Column{
		part("_sim_ns", func(at metasim.Instant) int64 { return int64(at.Time) }), part("_step", func(at metasim.Instant) int64 { return int64(at.Step) }),
	}
}

func grants(t *trace.Timeline) []parquet.Column {
	grant := func(row int) *trace.Grant { return &t.Grants[row] }
	columns := []parquet.Column{
		integer("grant", func(row int) int64 { return int64(row) }),
		textual("client", func(row int) string { return t.Names[grant(row).Client] }),
		textual("cause", func(row int) string { return t.Names[grant(row).Cause] }),
		integer("polled_ns", func(row int) int64 { return since(t, grant(row).Polled) }),
		integer("granted_ns", func(row int) int64 { return since(t, grant(row).Granted) }),
		integer("reported_ns", func(row int) int64 { return since(t, grant(row).Reported) }),
		integer("work_ns", func(row int) int64 { return grant(row).Work }),
		integer("critical_ns", func(row int) int64 { return grant(row).Critical }),
	}
	columns = append(columns, simulated("from", func(row int) metasim.Instant { return grant(row).From })...)
	return append(columns, simulated("until", func(row int) metasim.Instant { return grant(row).Until })...)
}

func holds(t *trace.Timeline) table {
	paths := make([]string, len(t.Paths))
	for i, path := range t.Paths {
		var hops []string
		for _, hop := range path {
			hops = append(hops, fmt.Sprintf("%s -> %s on %s", t.Names[hop.From], t.Names[hop.To], hop.Channel))
		}
		paths[i] = strings.Join(hops, ", ")
	}
	var rows []struct{ grant, hold int32 }
	for i := range t.Grants {
		for k := t.Grants[i].Holds[0]; k < t.Grants[i].Holds[1]; k++ {
			rows = append(rows, struct{ grant, hold int32 }{int32(i), k})
		}
	}
	hold := func(row int) *trace.Hold { return &t.Holds[rows[row].hold] }
	return table{"holds", len(rows), []parquet.Column{
		integer("grant", func(row int) int64 { return int64(rows[row].grant) }),
		textual("client", func(row int) string { return t.Names[t.Grants[rows[row].grant].Client] }),
		textual("held_by", func(row int) string {
			if root := hold(row).Root; root != trace.NoClient {
				return t.Names[root]
			}
			return ""
		}),
		integer("begin_ns", func(row int) int64 { return since(t, hold(row).Begin) }),
		integer("end_ns", func(row int) int64 { return since(t, hold(row).End) }),
		textual("path", func(row int) string {
			if path := hold(row).Path; path >= 0 {
				return paths[path]
			}
			return ""
		}),
	}}
}

func messages(t *trace.Timeline) []parquet.Column {
	message := func(row int) *trace.Message { return &t.Messages[row] }
	columns := []parquet.Column{
		textual("from", func(row int) string { return t.Names[message(row).From] }),
		textual("to", func(row int) string { return t.Names[message(row).To] }),
		textual("channel", func(row int) string { return t.Channels[message(row).Channel] }),
		integer("bytes", func(row int) int64 { return int64(message(row).Size) }),
	}
	columns = append(columns, simulated("sent", func(row int) metasim.Instant { return message(row).Sent })...)
	columns = append(columns, simulated("due", func(row int) metasim.Instant { return message(row).Due })...)
	return append(columns,
		integer("queued_ns", func(row int) int64 { return since(t, message(row).Queued) }),
		parquet.Column{Name: "delivered_ns", Int: func(row int) (int64, bool) {
			at := message(row).Delivered
			return since(t, at), at != 0
		}},
	)
}
