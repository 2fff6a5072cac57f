// Package show writes the report of a run as files: a page for a browser, a trace for Perfetto, and plots.
//
//	err = show.HTML(file, timeline, report)
//	events, err := show.Perfetto(file, timeline)
//	err = show.CSV(dir, timeline, report)
//	err = show.Plots(dir, report)
//
// It computes nothing that is not in the report or its timeline. Two calls with the same run write the same bytes.
//
// The page:
//
//	html.go      HTML, and the JSON that the script draws; page/ has the template, the style and the script
//	pieces.go    grants, joined if there are too many for a page
//	critical.go  the critical path, joined likewise
//
// The trace:
//
//	perfetto.go  Perfetto: tracks, and what happens on each
//	events.go    the moments of a track, in order, and the event of each
//	packets.go   packets, interned texts, compression, encoding
//
// The plots are in plots.go, the tables for notebooks in tables.go.
//
// # Duties of the caller
//
//  1. The report is that of the timeline.
//  2. A page shows the names of clients and channels as they are. Do not give it to people who must not know them.
package show
