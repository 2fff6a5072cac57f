package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"metasim/internal/plain"
)

// maxRows is how many rows a table of the text has. The JSON has all rows.
const maxRows = 12

// A table is printed at a width. If it is too wide, it loses the columns of the highest ranks, and then long words are shortened.
type table struct {
	title   string
	note    string // about the whole table; may be empty
	columns []column
	rows    [][]string
	more    int // rows that are left out
}

// A column is aligned to the right, or to the left if it has words. A column of rank 0 is always printed; the others have different ranks,
// from 1 up.
type column struct {
	head   string
	note   string // what the column is, if head does not say it
	word   bool
	rank   int
	hidden bool // it would be empty
}

// add adds a row. Names that others chose do not make it another one.
func (t *table) add(cells ...string) {
	for i := range cells {
		cells[i] = plain.Text(cells[i])
	}
	t.rows = append(t.rows, cells)
}

const gap = 2 // blanks between two columns

// write prints the table below its title and the notes of its columns, and says how many rows are left out.
func (t *table) write(b *strings.Builder, width int) {
	widths := make([]int, len(t.columns))
	for i := range t.columns {
		widths[i] = utf8.RuneCountInString(t.columns[i].head)
		for _, row := range t.rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	shown := t.fit(widths, width)
	heads := make([]string, len(t.columns))
	var notes []string
	if t.note != "" {
		notes = append(notes, t.note)
	}
	for i, c := range t.columns {
		heads[i] = c.head
		if shown[i] && c.note != "" {
			notes = append(notes, c.head+": "+c.note)
		}
	}
	b.WriteString("\n" + t.title + "\n")
	if len(notes) > 0 {
		wrap(b, "  ", "  ", strings.Join(notes, "; "), width)
	}
	t.line(b, heads, shown, widths)
	for _, row := range t.rows {
		t.line(b, row, shown, widths)
	}
	if t.more > 0 {
		fmt.Fprintf(b, "... and %d more: see --json\n", t.more)
	}
}

// fit chooses the columns that are printed, and reduces the widths of words if it must.
func (t *table) fit(widths []int, width int) (shown []bool) {
	shown = make([]bool, len(t.columns))
	for i := range shown {
		shown[i] = !t.columns[i].hidden
	}
	total := func() int {
		sum := -gap
		for i, w := range widths {
			if shown[i] {
				sum += w + gap
			}
		}
		return sum
	}
	for rank := len(t.columns); rank > 0 && total() > width; rank-- {
		for i, c := range t.columns {
			shown[i] = shown[i] && c.rank != rank
		}
	}
	const least = 8
	for total() > width {
		widest := -1
		for i, c := range t.columns {
			if shown[i] && c.word && widths[i] > least && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	return shown
}

func (t *table) line(b *strings.Builder, cells []string, shown []bool, widths []int) {
	var line []string
	for i, cell := range cells {
		if !shown[i] {
			continue
		}
		width := widths[i]
		if t.columns[i].word {
			width = -width // to the left
		}
		line = append(line, fmt.Sprintf("%*s", width, shortened(cell, widths[i])))
	}
	b.WriteString(strings.TrimRight(strings.Join(line, strings.Repeat(" ", gap)), " ") + "\n")
}

// shortened cuts the middle out of a long text: the ends of names tell them apart.
func shortened(s string, width int) string {
	r := []rune(s)
	if len(r) <= width {
		return s
	}
	const dots = ".."
	head := (width - len(dots)) / 2
	return string(r[:head]) + dots + string(r[len(r)-(width-len(dots)-head):])
}

// wrap writes text with a hanging indent.
func wrap(b *strings.Builder, first, indent, text string, width int) {
	line := first
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == first || line == indent:
			line += word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			b.WriteString(line + "\n")
			line = indent + word
		default:
			line += " " + word
		}
	}
	b.WriteString(line + "\n")
}
