package main

import (
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"strings"
)

//go:embed demo.html
var demoPage string

// The picture of one run, in units of its SVG.
const (
	plotWidth, plotHeight = 800.0, 240.0
	plotLimit             = 15.0 // degrees; beyond it the line leaves the picture
)

// A plotPart is one run of the demo.
type plotPart struct {
	Title, Digest, Transport string
	poles                    []pole // as the plant measured it

	// The page has:
	Line string // the points of its line
	Most string // degrees
	Fell bool
	Same bool // its digest is that of the one before
}

// A pole is the angle of the pole at one time.
type pole struct{ share, degrees float64 } // of the run that is over

// writeDemoPage draws the pole of each run on a page that needs nothing but a browser.
func writeDemoPage(file, until string, parts []plotPart) error {
	page, err := template.New("demo").Parse(demoPage)
	if err != nil {
		return err
	}
	for i := range parts {
		p, most := &parts[i], 0.0
		var points strings.Builder
		for _, at := range p.poles {
			most = max(most, at.degrees, -at.degrees)
			fmt.Fprintf(&points, "%.1f,%.1f ", at.share*plotWidth, plotHeight/2*(1-at.degrees/plotLimit))
		}
		p.Line, p.Most, p.Fell, p.Same = points.String(), fmt.Sprintf("%.1f", most), most > 45, i > 0 && parts[i-1].Digest == p.Digest
	}
	var text strings.Builder
	if err := page.Execute(&text, map[string]any{"Parts": parts, "Until": until}); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text.String()), 0o644)
}
