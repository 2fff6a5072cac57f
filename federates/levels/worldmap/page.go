package worldmap

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

// mostBytes bounds the drawings on a page.
const mostBytes = 6_000_000

// Page writes an animation of frames, of which there is one at least: a page that needs no other file and no network. It is smaller than 7 MB: of many frames it shows
// one of each two, four, and so on, and says so.
func Page(w io.Writer, frames []*Frame) error {
	d := &Drawing{}
	for _, f := range frames {
		d.Include(f)
	}
	shown, every := d.moments(frames)
	data, err := encodePage(shown)
	if err != nil {
		return err
	}
	last := frames[len(frames)-1]
	var fixed strings.Builder
	d.open(&fixed, last.Layout, false)
	d.fixed(&fixed, last.Layout)
	fmt.Fprintf(&fixed, `<g id="now">%s</g></svg>`, shown[0].Drawing)
	left := fmt.Sprintf("All %d instants are here.", len(frames))
	if every > 1 {
		left = fmt.Sprintf("Of %d instants %d are here, one of each %d, as the page would be too large. The SVG files beside it have all.", len(frames), len(shown), every)
	}
	_, err = strings.NewReplacer("{{world}}", escaped(last.Layout.World), "{{style}}", Style+pageStyle, "{{map}}", fixed.String(), "{{left}}", left,
		"{{last}}", fmt.Sprint(len(shown)-1), "{{first}}", escaped(shown[0].Instant), "{{data}}", data, "{{script}}", pageScript).WriteString(w, pageText)
	return err
}

// A moment is what the page shows of one frame.
type moment struct {
	Instant string `json:"at"`
	Drawing string `json:"svg"`
}

// moments draws frames, as many as a page has room for.
func (d *Drawing) moments(frames []*Frame) (all []moment, every int) {
	for every = 1; ; every *= 2 {
		size := 0
		all = nil
		for i := 0; i < len(frames) && size <= mostBytes; i += every {
			var b strings.Builder
			d.now(&b, frames[max(0, i-TrailFrames):i+1])
			all = append(all, moment{frames[i].Instant(), b.String()})
			size += b.Len()
		}
		if size <= mostBytes || len(all) == 1 {
			return all, every
		}
	}
}

// encodePage writes moments as JSON that may stand in a script element: nothing in it ends the element, or begins a comment.
func encodePage(all []moment) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(all)
	return strings.NewReplacer("</", `<\/`, "<!", `\u003c!`).Replace(b.String()), err
}
