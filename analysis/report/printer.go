package report

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"metasim/internal/plain"
)

// A Style says how the text of a report looks.
type Style struct {
	Width   int  // of a line, in characters; fewer than 40 count as 40
	Color   bool // for a terminal
	Explain bool // say what each column is
}

// A printer collects the text of a report.
type printer struct {
	strings.Builder
	Style
}

// A tone is how a part of the text stands out on a terminal: the parameters of an ANSI sequence.
type tone string

const (
	normal tone = ""
	strong tone = "1"
	faint  tone = "2"
	good   tone = "1;32"
	bad    tone = "31"
)

// toned returns text in a tone, where there is colour.
func (p *printer) toned(t tone, text string) string {
	if !p.Color || t == normal || strings.TrimSpace(text) == "" {
		return text
	}
	return "\x1b[" + string(t) + "m" + text + "\x1b[0m"
}

// title begins a section.
func (p *printer) title(text string) {
	p.WriteString("\n" + p.toned(strong, text) + "\n")
}

// say writes a sentence.
func (p *printer) say(format string, args ...any) {
	p.wrap(normal, "", "", fmt.Sprintf(format, args...))
}

// wrap writes text with a hanging indent. What stands before the text is first, in its tone. A word that is longer than a line is broken.
func (p *printer) wrap(t tone, first, indent, text string) {
	first = plain.Text(first)
	line, room := p.toned(t, first), p.Width-utf8.RuneCountInString(first)
	left := room // of the line
	for word := range strings.FieldsSeq(text) {
		word = plain.Text(word)
		n := utf8.RuneCountInString(word)
		if left < room && n+1 > left {
			p.WriteString(line + "\n")
			line, room = indent, p.Width-utf8.RuneCountInString(indent)
			left = room
		}
		if left < room {
			line += " "
			left--
		}
		for n > left && left > 8 {
			r := []rune(word)
			p.WriteString(line + string(r[:left]) + "\n")
			word, n = string(r[left:]), n-left
			line, room = indent, p.Width-utf8.RuneCountInString(indent)
			left = room
		}
		line += word
		left -= n
	}
	p.WriteString(line + "\n")
}

// maxRows is how many rows a table of the text has. The JSON has all rows.
const maxRows = 12

// A table is printed at a width. If it is too wide, long words are shortened, then it loses the columns of the highest ranks, and then all
// words are shortened.
type table struct {
	title   string
	note    string // about the whole table; may be empty
	columns []column
	rows    [][]string
	slight  map[int]bool // rows that matter little: their cells have no tone
	more    int          // rows that are left out
}

// A column is aligned to the right, or to the left if it has words. A column of rank 0 is always printed; the others have different ranks,
// from 1 up.
type column struct {
	head   string
	note   string // what the column is, if head does not say it
	word   bool
	rank   int
	hidden bool // it would be empty
	tone   tone // of its cells, in rows that are not slight
}

// add adds a row. Names that others chose do not make it another one.
func (t *table) add(cells ...string) {
	for i := range cells {
		cells[i] = plain.Text(cells[i])
	}
	t.rows = append(t.rows, cells)
}

// addSlight adds a row as add does; one that matters little if so it is.
func (t *table) addSlight(slight bool, cells ...string) {
	if slight {
		if t.slight == nil {
			t.slight = map[int]bool{}
		}
		t.slight[len(t.rows)] = true
	}
	t.add(cells...)
}

const gap = 2 // blanks between two columns

// write prints the table below its title, and says how many rows are left out. It explains the columns if the style says so.
func (t *table) write(p *printer) {
	widths := make([]int, len(t.columns))
	for i := range t.columns {
		widths[i] = utf8.RuneCountInString(t.columns[i].head)
		for _, row := range t.rows {
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	shown := t.fit(widths, p.Width)
	p.title(t.title)
	if t.note != "" {
		p.wrap(faint, "  ", "  ", t.note)
	}
	heads := make([]string, len(t.columns))
	for i, c := range t.columns {
		heads[i] = c.head
		if p.Explain && shown[i] && c.note != "" {
			p.wrap(faint, "  "+c.head+": ", "    ", c.note)
		}
	}
	t.line(p, heads, shown, widths, func(int) tone { return faint })
	for k, row := range t.rows {
		t.line(p, row, shown, widths, func(i int) tone {
			if t.slight[k] {
				return normal
			}
			return t.columns[i].tone
		})
	}
	if t.more > 0 {
		fmt.Fprintf(p, "... and %d more: see --json\n", t.more)
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
	full := slices.Clone(widths)
	for i, c := range t.columns {
		if c.word {
			widths[i] = min(widths[i], 24) // rather than to lose a column
		}
	}
	for rank := len(t.columns); rank > 0 && total() > width; rank-- {
		for i, c := range t.columns {
			shown[i] = shown[i] && c.rank != rank
		}
	}
	copy(widths, full)
	for total() > width {
		const least = 8
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

func (t *table) line(p *printer, cells []string, shown []bool, widths []int, tone func(column int) tone) {
	last := -1
	for i, cell := range cells {
		if shown[i] && cell != "" {
			last = i
		}
	}
	for i, cell := range cells[:last+1] {
		if !shown[i] {
			continue
		}
		text := shortened(cell, widths[i])
		blanks := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
		text = p.toned(tone(i), text)
		switch {
		case !t.columns[i].word:
			text = blanks + text
		case i < last:
			text += blanks
		}
		if i > 0 {
			text = strings.Repeat(" ", gap) + text
		}
		p.WriteString(text)
	}
	p.WriteString("\n")
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
