// Package report computes what a run cost and why, and writes it as text.
//
//	r := report.New(timeline)
//	r.About(manifest)
//	err := r.Predict(predict.New(timeline))
//	err = r.WriteText(os.Stdout, report.Style{Width: 80})
//
// Each section of the report is one file: its numbers, with the names that they have in JSON, and its text. A new section is a new file,
// and in report.go a field of Report, a call in New and a line in WriteText.
//
//	report.go    Report, New, WriteText
//	verdict.go   one sentence, and the best changes
//	headline.go  which run it was, and its four numbers
//	machine.go   what lies beside the critical path
//	clients.go   what each client did
//	blame.go     which client waited for which
//	links.go     how long clients waited behind each link
//	profile.go   how many clients computed, over the run
//	cores.go     the run on other numbers of cores
//	whatif.go    which changes would make it faster
//	changes.go   changes as text
//	advice.go    what to do about it
//	beside.go    two runs side by side
//	printer.go   text and tables of a given width
//	format.go    numbers as text
//
// Wall-clock times are seconds in a Report and nanoseconds in a Timeline.
package report
