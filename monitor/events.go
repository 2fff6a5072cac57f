package monitor

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// viewTime is how long a viewer may take to read an event.
const viewTime = 10 * time.Second

// A Look returns what a page shows now, as JSON, whether it is the last of it, and what is closed when there is more.
type Look func() (text []byte, last bool, changed <-chan struct{}, err error)

// serveEvents sends what a page beside that of the run shows as server-sent events of a kind: each that the viewer is quick enough for, until the last.
func serveEvents(rw http.ResponseWriter, r *http.Request, kind string, look Look) {
	rw.Header().Set("Content-Type", "text/event-stream")
	rw.Header().Set("Cache-Control", "no-store")
	control := http.NewResponseController(rw)
	for {
		text, last, changed, err := look()
		if err != nil {
			return
		}
		// A writer without deadlines is not a connection.
		if err := control.SetWriteDeadline(time.Now().Add(viewTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return
		}
		if _, err := fmt.Fprintf(rw, "event: %s\ndata: %s\n\n", kind, text); err != nil || control.Flush() != nil || last {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}
