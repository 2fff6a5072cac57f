package monitor

import (
	"embed"
	"encoding/json"
	"net/http"
)

//go:embed page
var page embed.FS

// pageHeaders says what a part of the page may load, and where its forms may go.
func pageHeaders(h http.Header, kind, forms string) {
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action "+forms+"; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
}

func refuse(w http.ResponseWriter, status int, text string) { reply(w, status, answer{Error: text}) }

func reply(w http.ResponseWriter, status int, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"error":"this cannot be shown"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the client may have closed the connection
}
