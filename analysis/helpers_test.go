package analysis_test

import "metasim/record/journal"

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

// ratio returns a/b, or 0 if b is 0.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// passes returns the entries of a run by passes of its server.
func passes(entries []journal.Entry) (all [][]journal.Entry) {
	begin := 0
	for i := range entries {
		if i+1 == len(entries) || entries[i+1].Wall != entries[i].Wall {
			all, begin = append(all, entries[begin:i+1]), i+1
		}
	}
	return all
}
