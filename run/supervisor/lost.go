package supervisor

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"sync"

	"metasim/run/launch"
)

// A LostHostError tells that a supervisor on another host, or what leads there, has ended before the run.
type LostHostError struct{ Host, Cause string }

func (e *LostHostError) Error() string {
	return fmt.Sprintf("host %s was lost: %s", e.Host, cmp.Or(e.Cause, "the connection was closed"))
}

// lastWords keep the end of what was said.
type lastWords struct {
	mu   sync.Mutex
	text []byte
}

func (w *lastWords) Write(b []byte) (int, error) {
	const most = 1 << 10
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text = append(w.text, b...)
	w.text = append(w.text[:0], w.text[max(0, len(w.text)-most):]...)
	return len(b), nil
}

func (w *lastWords) add(line string) { _, _ = w.Write([]byte(line + "\n")) } // Write does not fail

// err is what was said last, as an error; nil: nothing.
func (w *lastWords) err() error {
	if text := w.last(); text != "" {
		return errors.New(text)
	}
	return nil
}

// last returns the last line, which is the exit status at the end, and what says why before it.
func (w *lastWords) last() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := strings.TrimSpace(string(w.text))
	end := strings.LastIndexByte(text, '\n') + 1
	if why := launch.Reason(text[:end]); why != "" {
		return why + "; " + text[end:]
	}
	return text[end:]
}
