// Package suggest ends a message about an unknown word: what was probably meant, or else all that there is.
package suggest

import (
	"fmt"
	"strings"
)

// Word says what was probably meant by an unknown word, or lists those that are known.
func Word(word string, known []string) string {
	if meant := Near(word, known, (len(word)+2)/3); meant != "" { // two letters that changed places are two edits: "dealy"
		return fmt.Sprintf("did you mean %q?", meant)
	}
	return "use " + Either(known)
}

// Near returns the known word that was probably meant: one that differs in upper and lower case alone, or else the one with the fewest
// edits, and no more than `most` of them. It returns an empty string if there is none.
func Near(word string, known []string, most int) string {
	best, least := "", most+1
	for _, k := range known {
		if strings.EqualFold(k, word) {
			return k
		}
		if d := edits(word, k); d < least && len(word) > 1 {
			best, least = k, d
		}
	}
	return best
}

// Either lists words: "a, b or c". A long list is cut.
func Either(words []string) string {
	const most = 20
	switch {
	case len(words) == 0:
		return "nothing here"
	case len(words) == 1:
		return words[0]
	case len(words) > most:
		return strings.Join(words[:most], ", ") + ", ..."
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// edits is the Levenshtein distance of two words, in bytes; of words too long to be typing errors it is their length.
func edits(a, b string) int {
	const most = 64
	if len(a) > most || len(b) > most {
		return max(len(a), len(b))
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
