package monitor

import (
	"fmt"
	"time"

	"metasim/metasim"
)

// instant returns an instant in JSON.
func instant(i metasim.Instant) Instant {
	return Instant{Text: i.String(), Seconds: i.Time.Seconds(), Step: i.Step}
}

// within returns an instant in JSON, or nil for Infinity.
func within(i metasim.Instant) *Instant {
	if i == metasim.Infinity {
		return nil
	}
	at := instant(i)
	return &at
}

// span writes a length of real time.
func span(d time.Duration) string {
	switch {
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%.1f ms", d.Seconds()*1e3)
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 10*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}
