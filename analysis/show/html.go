package show

import (
	"embed"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"maps"
	"slices"
	"strings"

	"metasim/analysis/report"
	"metasim/analysis/trace"
	"metasim/metasim"
)

//go:embed page
var parts embed.FS

// scripts are the parts of the page's script. A part uses the parts before it.
var scripts = []string{"data.js", "timeline.js", "drawing.js", "gestures.js", "charts.js", "tables.js"}

// HTML writes a page about the run that needs nothing else: no network, no other file. It is smaller than 5 MB: of a long run it joins short
// grants and shows some of the messages.
//
// Names are shown as they are, but never as markup or script.
func HTML(w io.Writer, t *trace.Timeline, r *report.Report) error {
	data, err := encode(t, r)
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
	page, err := join("page.html")
	if err != nil {
		return err
	}
	// What is put in is not searched for names again, so no name that a run has can be one of them.
	_, err = strings.NewReplacer("{{scenario}}", html.EscapeString(r.Scenario), "{{style}}", style, "{{head}}", head(r), "{{figures}}", figures(r),
		"{{data}}", string(data), "{{script}}", "(() => {\n'use strict';\n"+script+"})();\n").WriteString(w, page)
	return err
}

// markup writes words, which may be anything, into markup. It is done without html/template: that calls methods by name, so that the linker
// has to keep every method of every library, and the program is 6 MB larger.
func markup(format string, words ...string) string {
	escaped := make([]any, len(words))
	for i, w := range words {
		escaped[i] = html.EscapeString(w)
	}
	return fmt.Sprintf(format, escaped...)
}

// head is what the page says first.
func head(r *report.Report) string {
	cores := ""
	if r.Cores == 1 {
		cores = " on 1 core"
	} else if r.Cores > 1 {
		cores = fmt.Sprintf(" on %d cores", r.Cores)
	}
	text := markup("  <p class=\"verdict\">%s.</p>\n", joined(r.Verdict)) +
		markup("  <p class=\"lead\">%s of simulated time in <b>%s</b>%s, with %s of work in %s grants.</p>\n",
			report.Span(metasim.Time(r.SimNS).Seconds()), report.Span(r.WallS), cores, report.Span(r.WorkS), fmt.Sprint(r.Grants))
	if origin := r.Origin(); origin != "" {
		text += markup("  <p class=\"digest\">%s</p>\n", origin)
	}
	if r.Digest != "" && r.Deterministic {
		text += markup("  <p class=\"digest\">digest <code>%s</code></p>\n", r.Digest)
	} else if r.Digest != "" {
		text += "  <p class=\"digest\">Not deterministic: the next run may come out differently.</p>\n"
	}
	if r.Error != "" {
		text += markup("  <p class=\"torn\">This page is about a run that did not succeed: %s</p>\n", r.Error)
	}
	if r.Torn != "" {
		text += markup("  <p class=\"torn\">This page covers only the beginning of the run: %s</p>\n", r.Torn)
	}
	return text
}

// figures are the cards with the numbers of the run.
func figures(r *report.Report) (text string) {
	for _, f := range r.Headline() {
		unit := ""
		if f.Factor {
			unit = " <small>times</small>"
		}
		text += markup("  <div class=\"card figure\">\n    <h2>%s</h2>\n    <p class=\"number\">%s", f.Name, report.Number(f.Number)) + unit +
			markup("</p>\n    <p>%s.</p>\n  </div>\n", f.Words)
	}
	return text
}

// joined keeps a number and its percent sign on one line.
func joined(text string) string { return strings.ReplaceAll(text, " %", "\u00a0%") }

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

// What a page has at most. It has fewer pieces if its data would be larger than maxBytes.
const (
	maxBytes    = 4_700_000
	maxPieces   = 40_000
	maxMessages = 16_000
	maxCritical = 20_000
	maxLanes    = 2_000
	maxRows     = 300 // of each table
	maxHops     = 40_000
)

// data is the JSON that the script of a page draws. Numbers in Lanes, Paths and Messages are indexes of Names, Paths and Channels. The first
// len(Lanes) names have a lane in the timeline, the most critical first.
type data struct {
	Report   *report.Report `json:"report"`
	All      counts         `json:"all"`
	Names    []string       `json:"names"`
	Channels []string       `json:"channels"`
	WallNS   int64          `json:"wall_ns"`
	// Lanes has for each lane the numbers of its pieces: begin and simulated time (each relative to the piece before), length, wait,
	// work, how long it waited for a core, grants (0: the initialization), work on the critical path, cause, number of holds; and for each hold: begin relative to the
	// piece, length, root (-1: no client), path (-1: not known).
	Lanes [][]int64 `json:"lanes"`
	// Critical has four numbers for each stretch of the critical path: lane, begin relative to the stretch before, length, work. The work
	// of a stretch of several parts is less than its length.
	Critical []int64 `json:"critical"`
	// Paths has for each path the numbers of its links: from, to, channel, least delay.
	Paths [][]int64 `json:"paths"`
	// Messages has eight numbers for each: from, to, channel, size, sent, due relative to sent, queued relative to the message before,
	// delivered relative to queued (-1: never).
	Messages []int64 `json:"messages"`
}

// counts count everything, shown or not.
type counts struct {
	Clients  int    `json:"clients"`
	Links    int    `json:"links"`
	Blame    int    `json:"blame"`
	Grants   uint64 `json:"grants"`
	Pieces   int    `json:"pieces"`
	Messages uint64 `json:"messages"`
	// DroppedGrants counts the grants at the end of the run that the Timeline does not store.
	DroppedGrants uint64 `json:"dropped_grants"`
}

// A gatherer makes the data of a page.
type gatherer struct {
	t     *trace.Timeline
	data  *data
	names map[metasim.ClientID]int64
	paths map[int32]int64
	chans map[string]int64
	hops  int
}

func gather(t *trace.Timeline, r *report.Report, maxPieces int) *data {
	g := &gatherer{t: t, names: map[metasim.ClientID]int64{}, paths: map[int32]int64{}, chans: map[string]int64{}}
	g.data = &data{
		WallNS: t.Wall(), Names: []string{}, Channels: []string{}, Lanes: [][]int64{}, Paths: [][]int64{}, Messages: []int64{}, Critical: []int64{},
		All: counts{
			Clients: len(r.Clients), Links: len(r.Links), Blame: len(r.Blame),
			Grants: uint64(len(t.Grants)) + t.DroppedGrants, DroppedGrants: t.DroppedGrants,
			Messages: uint64(len(t.Messages)) + t.DroppedMessages,
		},
	}
	short := *r
	short.Clients = r.ByCost()
	g.lanes(short.Clients, maxPieces)
	short.Clients = short.Clients[:min(len(short.Clients), maxRows)]
	short.Links = r.LinksByCost()[:min(len(r.Links), maxRows)]
	short.Blame = r.Blame[:min(len(r.Blame), maxRows)]
	short.Advice = r.Advice[:min(len(r.Advice), maxRows)]
	g.data.Report = &short
	g.messages()
	return g.data
}

// lanes adds a lane for each client, the most critical first.
func (g *gatherer) lanes(clients []report.ClientReport, maxPieces int) {
	ids := make(map[string]metasim.ClientID, len(g.t.Names))
	for i, name := range g.t.Names {
		ids[name] = metasim.ClientID(i)
	}
	all := pieces(g.t, maxPieces)
	clients = clients[:min(len(clients), maxLanes)]
	for _, c := range clients {
		g.name(ids[c.Name])
	}
	path := stretches(g.t, maxCritical)
	for _, c := range clients {
		id := ids[c.Name]
		first := []piece{}
		if int(id) < len(g.t.Starts) {
			first = append(first, started(g.t, id))
		}
		g.data.Lanes = append(g.data.Lanes, g.lane(append(first, all[id]...)))
		g.data.All.Pieces += len(all[id])
	}
	begin := g.t.Begin
	for _, s := range path {
		if lane, shown := g.names[s.client]; shown && lane < int64(len(clients)) {
			g.data.Critical = append(g.data.Critical, lane, s.begin-begin, s.end-s.begin, s.work)
			begin = s.begin
		}
	}
}

// started is the piece of a client's initialization.
func started(t *trace.Timeline, id metasim.ClientID) piece {
	s := &t.Starts[id]
	return piece{begin: t.Begin, end: s.End, work: s.Work, noCore: s.CoreWait, critical: s.Critical, cause: id}
}

func (g *gatherer) lane(ps []piece) []int64 {
	row := []int64{}
	begin, from := g.t.Begin, metasim.Time(0)
	for i := range ps {
		p := &ps[i]
		row = append(row, p.begin-begin, int64(p.from-from), p.end-p.begin, p.wait, p.work, max(0, p.noCore), int64(p.grants), p.critical, g.name(p.cause),
			int64(len(p.holds)))
		for _, h := range p.holds {
			row = append(row, h.Begin-p.begin, h.End-h.Begin, g.name(h.Root), g.path(h.Path))
		}
		begin, from = p.begin, p.from
	}
	return row
}

func (g *gatherer) name(id metasim.ClientID) int64 {
	if id == trace.NoClient {
		return -1
	}
	return number(g.names, id, &g.data.Names, g.t.Names[id])
}

func (g *gatherer) channel(name string) int64 { return number(g.chans, name, &g.data.Channels, name) }

// number returns the index of a key. A new key gets the next index, and its text is appended to the list.
func number[K comparable](known map[K]int64, key K, list *[]string, text string) int64 {
	n, ok := known[key]
	if !ok {
		n = int64(len(*list))
		known[key] = n
		*list = append(*list, text)
	}
	return n
}

func (g *gatherer) path(i int32) int64 {
	if i < 0 {
		return -1
	}
	n, ok := g.paths[i]
	if ok {
		return n
	}
	path := g.t.Paths[i]
	if g.hops += len(path); g.hops > maxHops {
		return -1
	}
	row := []int64{}
	for _, hop := range path {
		row = append(row, g.name(hop.From), g.name(hop.To), g.channel(hop.Channel), int64(hop.Min))
	}
	n = int64(len(g.data.Paths))
	g.paths[i] = n
	g.data.Paths = append(g.data.Paths, row)
	return n
}

// messages adds the same number of messages of each link, if it has so many, spread evenly over the run.
func (g *gatherer) messages() {
	lanes := len(g.data.Lanes)
	shown := func(m *trace.Message) bool {
		from, ok := g.names[m.From]
		to, too := g.names[m.To]
		return ok && too && from < int64(lanes) && to < int64(lanes)
	}
	sizes := map[trace.LinkID]int{}
	for i := range g.t.Messages {
		if m := &g.t.Messages[i]; shown(m) {
			sizes[m.LinkID]++
		}
	}
	quota := share(slices.Sorted(maps.Values(sizes)), maxMessages)
	seen := make(map[trace.LinkID]int, len(sizes))
	queued := g.t.Begin
	for i := range g.t.Messages {
		m := &g.t.Messages[i]
		if !shown(m) {
			continue
		}
		n, k := sizes[m.LinkID], seen[m.LinkID]
		q := min(n, quota)
		seen[m.LinkID]++
		if k*q/n == (k+1)*q/n {
			continue
		}
		delivered := int64(-1)
		if m.Delivered > 0 {
			delivered = m.Delivered - m.Queued
		}
		g.data.Messages = append(g.data.Messages, g.name(m.From), g.name(m.To), g.channel(g.t.Channels[m.Channel]), int64(m.Size),
			int64(m.Sent.Time), int64(m.Due.Time-m.Sent.Time), m.Queued-queued, delivered)
		queued = m.Queued
	}
}

// share returns a limit for each link, so that all links together show at most `most` messages. sizes are the numbers of messages of
// the links, in rising order.
func share(sizes []int, most int) int {
	least := 0
	for i, n := range sizes {
		if left := len(sizes) - i; n > most/left {
			return most / left
		}
		most -= n
		least = n
	}
	return least // enough for all
}
