package export

import "metasim/record/journal"

// batchSize is how many entries are handed from the one who reads to the one who sorts at once.
const batchSize = 512

// A batch is some entries of a journal. After the last one err says how the journal ended.
type batch struct {
	entries []journal.Entry
	err     error
}

// readAhead reads a journal in a goroutine of its own, as to decode it is most of the work of an export. When stop has
// returned nobody reads any more.
func readAhead(r *journal.Reader) (batches <-chan batch, stop func()) {
	out, quit := make(chan batch, 4), make(chan struct{})
	go func() {
		defer close(out)
		for {
			b := readBatch(r)
			select {
			case out <- b:
			case <-quit:
				return
			}
			if b.err != nil {
				return
			}
		}
	}()
	return out, func() {
		close(quit)
		for range out { // until it has been closed
		}
	}
}

func readBatch(r *journal.Reader) batch {
	b := batch{entries: make([]journal.Entry, 0, batchSize)}
	for len(b.entries) < batchSize {
		var e journal.Entry
		if e, b.err = r.Next(); b.err != nil {
			break
		}
		b.entries = append(b.entries, e)
	}
	return b
}
