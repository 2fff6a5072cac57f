package tidy

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// retired are words that the house had for itself, each with the field's word or a plain noun: docs/glossary.md has the terms.
var retired = map[string]string{
	"crown": "star", "twig": "leaf", "heed": "boundChanged", "ghost": "client model", "desk": "server model",
	"errand": "CPU request", "untold": "inferred acts", "acquaintance": "peer name", "kin": "client group",
	"stranger": "undeclared port", "conductor": "runner", "fate": "exit", "crew": "scheduler", "seat": "task",
	"labor": "worker", "keeper": "main loop", "chatter": "traffic",
}

// A word that only this house knows makes every reader a newcomer.
func TestRetiredWordsStayAway(t *testing.T) {
	which := regexp.MustCompile(`(?i)\b(` + strings.Join(slices.Collect(maps.Keys(retired)), "|") + `)s?\b`)
	texts := pages(t)
	for _, s := range sources(t) {
		if !s.test() && !s.generated() {
			texts[s.path] = string(s.text)
		}
	}
	for file, text := range texts {
		for _, m := range which.FindAllStringSubmatch(text, -1) {
			t.Errorf("%s says %q; the word is %q", file, m[0], retired[strings.ToLower(m[1])])
		}
	}
}
