package scenarios

import (
	"path/filepath"
	"strings"

	"metasim/lcm/names"
)

const (
	lcmFlag    = "--lcm"
	publicOff  = "off" // the run is not shown
	fileScheme = "file://"
)

// publicLCM checks the URL of the LCM network on which the run is shown. An event log that the scenario names lies below its
// directory, as the run writes it; a log that a flag names may lie anywhere.
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
	if c.sound(path{"lcm_subscribers"}).number(0) > 0 && strings.HasPrefix(url, fileScheme) {
		c.fail(path{"lcm_subscribers"}, "nobody listens to an event log; leave it out")
	}
	name, isFile := strings.CutPrefix(url, fileScheme)
	if !isFile || c.dir.outside || c.sound(p).at.file == lcmFlag || filepath.IsLocal(filepath.FromSlash(name)) {
		return
	}
	c.fail(p, "%q lies outside of the scenario's directory; move it below, or use --allow-outside", name)
}

// absoluteURL returns the URL with an absolute path, or "" where the run is not shown. A path begins in dir.
func absoluteURL(url, dir string) string {
	if url == publicOff {
		return ""
	}
	if name, ok := strings.CutPrefix(url, fileScheme); ok {
		return fileScheme + within(dir, name)
	}
	return url
}

// fromWorkingDirectory makes the path in a flag's URL absolute: it begins in the working directory, not in the scenario's.
func fromWorkingDirectory(url string) string {
	name, ok := strings.CutPrefix(url, fileScheme)
	if !ok || name == "" {
		return url
	}
	absolute, err := filepath.Abs(name)
	if err != nil {
		return url // the path then begins in the scenario's directory
	}
	return fileScheme + absolute
}
