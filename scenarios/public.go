package scenarios

import (
	"path/filepath"
	"strconv"
	"strings"

	"metasim/lcm/names"
)

const (
	lcmFlag    = "--lcm"
	publicOff  = "off" // a public_lcm that is none
	fileScheme = "file://"
)

// publicLCM checks the URL of the LCM network on which the run is shown. A log is written, so one that the scenario names
// lies below its directory; who gives a flag says where it may lie.
func (c *checker) publicLCM() {
	p := path{"public_lcm"}
	url, ok := c.sound(p).text()
	if !ok || url == publicOff {
		return
	}
	if _, err := names.Parse(url); err != nil {
		c.fail(p, "%s", err)
		return
	}
	name, isFile := strings.CutPrefix(url, fileScheme)
	if !isFile || c.dir.outside || c.sound(p).at.file == lcmFlag || filepath.IsLocal(filepath.FromSlash(name)) {
		return
	}
	c.fail(p, "%q lies outside of the scenario's directory; move it below, or use --allow-outside", name)
}

// publicLCM is the URL, with an absolute path, or empty.
func (s *Scenario) publicLCM() string {
	url := s.doc.PublicLCM
	if url == publicOff {
		return ""
	}
	if name, ok := strings.CutPrefix(url, fileScheme); ok {
		return fileScheme + within(s.Dir, name)
	}
	return url
}

// absoluteLog makes the path in a flag's URL absolute: it begins where the user is, not where the scenario is.
func absoluteLog(url string) string {
	name, ok := strings.CutPrefix(url, fileScheme)
	if !ok || name == "" {
		return url
	}
	absolute, err := filepath.Abs(name)
	if err != nil {
		return url // it will be looked for below the scenario
	}
	return fileScheme + absolute
}

// shown refuses channels whose names LCM has no form for, where the run is to be shown. It knows of models what they
// publish; what others publish is seen when they do.
func (f *flow) shown() {
	if f.s.PublicLCM == "" {
		return
	}
	naming := names.Naming{Suffix: f.s.LCMSuffix}
	refused := map[string]bool{} // once for a channel of an entry is enough
	check := func(from int, channel, sender, recipient string) {
		entry := f.groups[from].entry
		key := strconv.Itoa(entry) + " " + channel
		if err := naming.Check(channel, sender, recipient); err != nil && !refused[key] {
			refused[key] = true
			f.fail(f.parameterOf(path{"clients", strconv.Itoa(entry)}, channel), "%s", err)
		}
	}
	longest := make([]string, len(f.groups))
	for i := range f.groups {
		for _, c := range f.groups[i].clients {
			if len(c.Name) > len(longest[i]) {
				longest[i] = c.Name
			}
		}
	}
	for _, e := range f.edges {
		check(e.from, e.channel, longest[e.from], longest[e.to])
	}
	for i := range f.groups {
		for _, channel := range f.groups[i].ports.Publications {
			check(i, channel, longest[i], "")
		}
	}
}
