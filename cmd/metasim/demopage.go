package main

import (
	_ "embed"
	"fmt"
	"html"
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
}

// A pole is the angle of the pole at one time.
type pole struct{ share, degrees float64 } // of the run that is over

// writeDemoPage draws the pole of each run on a page that needs nothing but a browser.
func writeDemoPage(file, until string, parts []plotPart) error {
	head, rest, _ := strings.Cut(demoPage, "{{each run}}")
	section, end, _ := strings.Cut(rest, "{{end}}")
	var page strings.Builder
	page.WriteString(head)
	for i, p := range parts {
		most := 0.0
		var points strings.Builder
		for _, at := range p.poles {
			most = max(most, at.degrees, -at.degrees)
			fmt.Fprintf(&points, "%.1f,%.1f ", at.share*plotWidth, plotHeight/2*(1-at.degrees/plotLimit))
		}
		verdict, class, same := fmt.Sprintf("The pole stood: at most %.1f° off.", most), "", ""
		if most > 45 {
			verdict, class = "The pole fell.", " fell"
		}
		if i > 0 && parts[i-1].Digest == p.Digest {
			same = ": the same as above"
		}
		page.WriteString(strings.NewReplacer("{{title}}", html.EscapeString(p.Title), "{{most}}", fmt.Sprintf("%.1f", most), "{{line}}", points.String(),
			"{{until}}", html.EscapeString(until), "{{class}}", class, "{{verdict}}", verdict, "{{transport}}", p.Transport, "{{digest}}", p.Digest, "{{same}}", same,
		).Replace(section))
	}
	page.WriteString(end)
	return os.WriteFile(file, []byte(page.String()), 0o644)
}
