// Package run carries out a scenario: it serves it, starts its clients (built-in models as goroutines or processes,
// commands as processes), keeps the record in a run directory, and says what came of it.
//
// Real time and processes live here; nothing in this package can reach a result.
package run
