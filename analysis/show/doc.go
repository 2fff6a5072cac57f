// Package show makes files of the report of a run, for eyes and for other tools: a page that needs nothing but a
// browser, a trace for Perfetto, and plots.
//
//	tl, err := trace.Read(source)
//	report := report.New(tl)
//	err = show.HTML(file, tl, report)
//	events, err := show.Perfetto(file, tl)
//	err = show.Plots(dir, report)
//
// Nothing is computed here that is not in the report or its timeline. Two calls with the same run write the same bytes.
//
//	html.go      the page: page/ has its template, its style and its script
//	data.go      what the page is told
//	pieces.go    grants, put together where there are too many for a page
//	words.go     the headline
//	perfetto.go  the trace: tracks, slices and arrows
//	track.go     the moments of one track, in order
//	tell.go      what is said of each
//	packet.go    the form of the trace
//	parcel.go    packets, compressed together
//	plots.go     the plots
//
// # Duties of the caller
//
//  1. The report is the one of the timeline.
//  2. A page shows names as they are: whoever must not know the names of a run's clients must not get its page.
package show
