package run

import "regexp"

// ownPrefix is where an error names one of our packages: for us, not for the person who reads it.
var ownPrefix = regexp.MustCompile(`(?m)(^|: )(?:metasim|client|server|run|live|monitor|transport|scenarios|federates|delay|wire|journal|lcm bus|stream|quic|mem|dial|lcm|types|export|replay|compare): `)

// Sentence writes an error for a person: without the names of the packages that it came through.
func Sentence(err error) string {
	text := err.Error()
	for {
		shorter := ownPrefix.ReplaceAllString(text, "$1")
		if shorter == text {
			return text
		}
		text = shorter
	}
}
