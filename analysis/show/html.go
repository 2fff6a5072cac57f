package show

import (
	"embed"
	"encoding/json"
	"html/template"
	"io"
	"strings"

	"metasim/analysis/report"
	"metasim/analysis/trace"
	"metasim/metasim"
)

//go:embed page
var parts embed.FS

// scripts are the parts of the page's script. A part uses the parts before it.
var scripts = []string{"data.js", "timeline.js", "drawing.js", "gestures.js", "charts.js", "tables.js"}

// page is what the template is filled with.
type page struct {
	*report.Report
	Sim          string // how much time was simulated
	Style        template.CSS
	Script, Data template.JS
}

// HTML writes a page about the run that needs nothing else: no network, no other file. It is smaller than 5 MB: of a long run it joins short
// grants and shows some of the messages.
//
// Names are shown as they are, but never as markup or script.
func HTML(w io.Writer, t *trace.Timeline, r *report.Report) error {
	data, err := encode(t, r)
	if err != nil {
		return err
	}
	functions := template.FuncMap{"span": report.Span, "number": report.Number}
	tmpl, err := template.New("page.html").Funcs(functions).ParseFS(parts, "page/page.html")
	if err != nil {
		return err
	}
	style, err := join("style.css")
	if err != nil {
		return err
	}
	script, err := join(scripts...)
	if err != nil {
		return err
	}
	return tmpl.Execute(w, page{
		Report: r, Sim: report.Span(metasim.Time(r.SimNS).Seconds()), Style: template.CSS(style),
		Script: template.JS("(() => {\n'use strict';\n" + script + "})();\n"), Data: template.JS(data),
	})
}

// join returns parts of the page, one after another.
func join(names ...string) (string, error) {
	var b strings.Builder
	for _, name := range names {
		text, err := parts.ReadFile("page/" + name)
		if err != nil {
			return "", err
		}
		b.Write(text)
	}
	return b.String(), nil
}

// encode returns the data of the page, with as many pieces as possible. json.Marshal escapes < and >, so no name can end the element that
// contains the data.
func encode(t *trace.Timeline, r *report.Report) ([]byte, error) {
	for most := maxPieces; ; most = most * 3 / 4 {
		text, err := json.Marshal(gather(t, r, most))
		if err != nil || len(text) <= maxBytes || most < maxPieces/10 {
			return text, err
		}
	}
}
