package launch

import (
	"regexp"
	"strings"
)

var (
	// asides are lines of Slurm's programs that say nothing of why something has ended.
	asides = regexp.MustCompile(`^srun: (Force Terminated|Job step aborted|job \d+ (queued|has been)|cluster configuration lacks support for cpu binding)|^Try "\w+ --help"`)
	// statuses are lines of srun that say no more than how a program has ended. They may come before or after what that has said.
	statuses = regexp.MustCompile(`^srun: error: \S+: tasks? \S+: `)
)

// Reason finds the line that says why a program has ended, in what that and whatever has started it have written: the last one, but for those that say less.
// Empty: there is none.
func Reason(said string) (reason string) {
	status := ""
	for line := range strings.Lines(said) {
		switch line = strings.TrimSpace(line); {
		case line == "" || asides.MatchString(line):
		case statuses.MatchString(line):
			status = line
		default:
			reason = line
		}
	}
	if reason == "" {
		return status
	}
	return reason
}
