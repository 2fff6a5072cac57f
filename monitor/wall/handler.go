package wall

import (
	"embed"
	"encoding/json"
	"fmt"
	"net/http"

	"metasim/federates/follower"
	"metasim/monitor"
)

//go:embed page
var page embed.FS

// maxBody is the longest request.
const maxBody = 4 << 10

// Handler serves the page at /, frames as server-sent events at /events, and takes commands at /command and touches at /touch. Who may do what is for the caller to check.
func (w *Wall) Handler() http.Handler {
	mux := http.NewServeMux()
	monitor.HandlePage(mux, page, "frame", w.look)
	mux.HandleFunc("POST /command", func(rw http.ResponseWriter, r *http.Request) {
		var c follower.Command
		if read(rw, r, &c) {
			answer(rw, w.command(&c))
		}
	})
	mux.HandleFunc("POST /touch", func(rw http.ResponseWriter, r *http.Request) {
		var at struct{ X, Y uint16 }
		if read(rw, r, &at) {
			answer(rw, w.click(click{channel: Touches, payload: fmt.Appendf(nil, "touch %d %d", at.X, at.Y)}))
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
