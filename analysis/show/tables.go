package show

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"metasim/analysis/report"
	"metasim/analysis/trace"
	"metasim/metasim"
)

// CSV writes tables for other programs to a directory, which is made if it is not there: clients.csv, links.csv, grants.csv, holds.csv and
// messages.csv. The first line of each names its columns; docs/report.md says what they are. Wall-clock times are nanoseconds since the run
// began, simulated times nanoseconds and steps. An empty cell is a time that never comes, or a client that there is not. CSV overwrites files
// of these names. Grants, holds and messages are those that the timeline stores.
func CSV(dir string, t *trace.Timeline, r *report.Report) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, table := range []struct {
		name    string
		columns []string
		rows    iter.Seq[[]string]
	}{
		{"clients", columnsOf[report.ClientReport](), cellsOf(r.Clients)},
		{"links", columnsOf[report.LinkReport](), cellsOf(r.Links)},
		{"grants", strings.Fields("grant client cause polled_ns granted_ns reported_ns work_ns critical_ns from_sim_ns from_step until_sim_ns until_step"), grants(t)},
		{"holds", strings.Fields("grant client held_by begin_ns end_ns path"), holds(t)},
		{"messages", strings.Fields("from to channel bytes sent_sim_ns sent_step due_sim_ns due_step queued_ns delivered_ns"), messages(t)},
	} {
		if err := writeTable(filepath.Join(dir, table.name+".csv"), table.columns, table.rows); err != nil {
			return err
		}
	}
	return nil
}

func writeTable(path string, columns []string, rows iter.Seq[[]string]) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	buffer := bufio.NewWriterSize(f, 1<<16)
	w := csv.NewWriter(buffer)
	err = w.Write(columns)
	for row := range rows {
		if err == nil {
			err = w.Write(row)
		}
	}
	w.Flush()
	return errors.Join(cmp.Or(err, w.Error()), buffer.Flush(), f.Close())
}

// columnsOf returns the names in JSON of the fields of a report that are one number or text.
func columnsOf[T any]() (columns []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if f.Type.Kind() != reflect.Slice {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			columns = append(columns, name)
		}
	}
	return columns
}

func cellsOf[T any](all []T) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for i := range all {
			var cells []string
			row := reflect.ValueOf(&all[i]).Elem()
			for k := range row.NumField() {
				if f := row.Field(k); f.Kind() != reflect.Slice {
					cells = append(cells, fmt.Sprint(f.Interface()))
				}
			}
			if !yield(cells) {
				return
			}
		}
	}
}

func integer(n int64) string { return strconv.FormatInt(n, 10) }

// timeAndStep writes a simulated time and its step. The time of what never comes is empty.
func timeAndStep(i metasim.Instant) (at, step string) {
	if i.Time == metasim.Forever {
		return "", ""
	}
	return integer(int64(i.Time)), strconv.FormatUint(uint64(i.Step), 10)
}

func grants(t *trace.Timeline) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for i := range t.Grants {
			g := &t.Grants[i]
			from, fromStep := timeAndStep(g.From)
			until, untilStep := timeAndStep(g.Until)
			if !yield([]string{
				strconv.Itoa(i), t.Names[g.Client], t.Names[g.Cause], integer(since(t, g.Polled)), integer(since(t, g.Granted)),
				integer(since(t, g.Reported)), integer(g.Work), integer(g.Critical), from, fromStep, until, untilStep,
			}) {
				return
			}
		}
	}
}

func holds(t *trace.Timeline) iter.Seq[[]string] {
	paths := make([]string, len(t.Paths))
	for i, path := range t.Paths {
		var hops []string
		for _, hop := range path {
			hops = append(hops, fmt.Sprintf("%s -> %s on %s", t.Names[hop.From], t.Names[hop.To], hop.Channel))
		}
		paths[i] = strings.Join(hops, ", ")
	}
	return func(yield func([]string) bool) {
		for i := range t.Grants {
			g := &t.Grants[i]
			for _, h := range t.Holds[g.Holds[0]:g.Holds[1]] {
				root, path := "", ""
				if h.Root != trace.NoClient {
					root = t.Names[h.Root]
				}
				if h.Path >= 0 {
					path = paths[h.Path]
				}
				if !yield([]string{strconv.Itoa(i), t.Names[g.Client], root, integer(since(t, h.Begin)), integer(since(t, h.End)), path}) {
					return
				}
			}
		}
	}
}

func messages(t *trace.Timeline) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for i := range t.Messages {
			m := &t.Messages[i]
			sent, sentStep := timeAndStep(m.Sent)
			due, dueStep := timeAndStep(m.Due)
			delivered := ""
			if m.Delivered != 0 {
				delivered = integer(since(t, m.Delivered))
			}
			if !yield([]string{
				t.Names[m.From], t.Names[m.To], t.Channels[m.Channel], strconv.FormatUint(uint64(m.Size), 10), sent, sentStep, due, dueStep,
				integer(since(t, m.Queued)), delivered,
			}) {
				return
			}
		}
	}
}
