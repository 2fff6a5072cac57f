package show

import (
	"embed"
	"encoding/json"
	"html/template"
	"io"
	"strings"

	"metasim/analysis"
	"metasim/metasim"
)

//go:embed page
var parts embed.FS

// scripts are the parts of the script, in the order in which they build on one another.
var scripts = []string{"data.js", "timeline.js", "drawing.js", "gestures.js", "charts.js", "tables.js"}

// page is what the template is filled with.
type page struct {
	Title, Sim, Wall, Work string
	Cores                  int
	Digest, Error, Torn    string
	Deterministic          bool
	Grants                 uint64
	Figures                []figure
	Style                  template.CSS
	Script, Data           template.JS
}

// HTML writes a page about the run that needs nothing else: no network, no other file. It is below 5 MB, whatever the run
// was: of long ones it puts short grants together, and shows some of the messages.
//
// Names are shown as they are, and never as markup or script.
func HTML(w io.Writer, t *analysis.Timeline, r *analysis.Report) error {
	text, err := encode(t, r)
	if err != nil {
		return err
	}
	tmpl, err := template.ParseFS(parts, "page/page.html")
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
		Title: r.Scenario, Sim: span(metasim.Time(r.SimNS).Seconds()), Wall: span(r.WallS), Work: span(r.WorkS), Cores: r.Cores,
		Digest: r.Digest, Deterministic: r.Deterministic, Error: r.Error, Torn: r.Torn, Grants: r.Grants, Figures: headline(r),
		Style: template.CSS(style), Script: template.JS("(() => {\n'use strict';\n" + script + "})();\n"), Data: template.JS(text),
	})
}

// join returns parts of the page after one another.
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

// encode returns the data of the page, with as many pieces as may be. json.Marshal writes < and > as escapes, so no name
// can end the element that the data is in.
func encode(t *analysis.Timeline, r *analysis.Report) ([]byte, error) {
	for most := mostPieces; ; most = most * 3 / 4 {
		text, err := json.Marshal(gather(t, r, most))
		if err != nil || len(text) <= mostBytes || most < mostPieces/10 {
			return text, err
		}
	}
}
