package monitor

import (
	"cmp"
	"embed"
	"io/fs"
	"net/http"
	"path"
)

// shared has what the pages beside that of the run have in common.
//
//go:embed beside
var shared embed.FS

// kinds are the types of the files of a page, by how their names end.
var kinds = map[string]string{".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}

// HandlePage serves a page beside that of the run: of files page/index.html at /, the others of page under their names, and what it shows as server-sent events
// of a kind at /events. Who may see it is for the caller to check.
func HandlePage(mux *http.ServeMux, files fs.FS, kind string, look Look) {
	mux.HandleFunc("GET /{file}", func(rw http.ResponseWriter, r *http.Request) { serveFile(rw, r, files, r.PathValue("file")) })
	mux.HandleFunc("GET /{$}", func(rw http.ResponseWriter, r *http.Request) { serveFile(rw, r, files, "index.html") })
	mux.HandleFunc("GET /events", func(rw http.ResponseWriter, r *http.Request) { serveEvents(rw, r, kind, look) })
}

// serveFile serves a file of a page, or one that all of them have.
func serveFile(rw http.ResponseWriter, r *http.Request, files fs.FS, name string) {
	text, err := fs.ReadFile(files, "page/"+name)
	if err != nil {
		text, err = shared.ReadFile("beside/" + name)
	}
	if err != nil {
		http.NotFound(rw, r)
		return
	}
	WriteFile(rw, name, text)
}

// WriteFile answers with a file of a page, whose name says of which type it is.
func WriteFile(rw http.ResponseWriter, name string, text []byte) {
	pageHeaders(rw.Header(), cmp.Or(kinds[path.Ext(name)], "application/octet-stream"), "'none'")
	_, _ = rw.Write(text) // the client may have closed the connection
}
