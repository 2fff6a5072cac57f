package wall

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"metasim/federates/follower"
	"metasim/monitor"
)

//go:embed page
var page embed.FS

// pageFiles are the parts of the page, by path.
var pageFiles = map[string]struct{ file, kind string }{
	"/{$}":      {"page/index.html", "text/html; charset=utf-8"},
	"/wall.css": {"page/wall.css", "text/css; charset=utf-8"},
	"/wall.js":  {"page/wall.js", "text/javascript; charset=utf-8"},
}

// maxBody is the longest request.
const maxBody = 4 << 10

// viewTime is how long a viewer may take to read a frame.
const viewTime = 10 * time.Second

// Handler serves the page at /, frames as server-sent events at /events, and takes commands at /command and touches at /touch. Who may do what is for the caller to check.
func (w *Wall) Handler() http.Handler {
	mux := http.NewServeMux()
	for path, f := range pageFiles {
		mux.HandleFunc("GET "+path, func(rw http.ResponseWriter, _ *http.Request) {
			text, err := page.ReadFile(f.file)
			if err != nil {
				refuse(rw, err)
				return
			}
			monitor.PageHeaders(rw.Header(), f.kind, "'none'")
			_, _ = rw.Write(text) // the client may have closed the connection
		})
	}
	mux.HandleFunc("GET /events", w.serveEvents)
	mux.HandleFunc("POST /command", func(rw http.ResponseWriter, r *http.Request) {
		var c follower.Command
		if read(rw, r, &c) {
			answer(rw, w.command(&c))
		}
	})
	mux.HandleFunc("POST /touch", func(rw http.ResponseWriter, r *http.Request) {
		var at struct{ X, Y uint16 }
		if read(rw, r, &at) {
			answer(rw, w.click(Touches, fmt.Appendf(nil, "touch %d %d", at.X, at.Y)))
		}
	})
	return mux
}

// read reads a request, or answers that it makes no sense.
func read(rw http.ResponseWriter, r *http.Request, to any) bool {
	d := json.NewDecoder(http.MaxBytesReader(rw, r.Body, maxBody))
	d.DisallowUnknownFields()
	err := d.Decode(to)
	if err != nil {
		refuse(rw, err)
	}
	return err == nil
}

func answer(rw http.ResponseWriter, err error) {
	if err != nil {
		refuse(rw, err)
		return
	}
	rw.WriteHeader(http.StatusNoContent)
}

func refuse(rw http.ResponseWriter, err error) {
	text, e := json.Marshal(map[string]string{"error": err.Error()})
	if e != nil {
		text = []byte(`{"error":"this cannot be shown"}`)
	}
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(http.StatusConflict)
	_, _ = rw.Write(text) // the client may have closed the connection
}

// serveEvents sends each frame that the viewer is quick enough for, until the run is over.
func (w *Wall) serveEvents(rw http.ResponseWriter, r *http.Request) {
	rw.Header().Set("Content-Type", "text/event-stream")
	rw.Header().Set("Cache-Control", "no-store")
	control := http.NewResponseController(rw)
	for {
		text, last, changed, err := w.look()
		if err != nil {
			return
		}
		// A writer without deadlines is not a connection.
		if err := control.SetWriteDeadline(time.Now().Add(viewTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
			return
		}
		if _, err := fmt.Fprintf(rw, "event: frame\ndata: %s\n\n", text); err != nil || control.Flush() != nil || last {
			return
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		}
	}
}
