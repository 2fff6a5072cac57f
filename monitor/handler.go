package monitor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// pageFiles are the parts of the page, by path.
var pageFiles = map[string]struct{ file, kind string }{
	"/":          {"page/index.html", "text/html; charset=utf-8"},
	"/style.css": {"page/style.css", "text/css; charset=utf-8"},
	"/page.js":   {"page/page.js", "text/javascript; charset=utf-8"},
	"/draw.js":   {"page/draw.js", "text/javascript; charset=utf-8"},
}

// Serve has the handlers that are made from now on serve what is below a prefix, as "/wall/", too. Who may see the run may read there, and who may command it may post.
func (m *Monitor) Serve(prefix string, h http.Handler) {
	if m.more == nil {
		m.more = map[string]http.Handler{}
	}
	m.more[prefix] = h
}

// Handler serves the run: the page at /, /status.json, /events, /metrics, /why and /ctl/. access says what needs the token.
func (m *Monitor) Handler(access Access, token string) http.Handler {
	mux := http.NewServeMux()
	in := newLogin(token)
	mux.HandleFunc("POST /login", in.serve)
	for path, f := range pageFiles {
		if path == "/" {
			path = "/{$}"
		}
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) { servePage(w, f.file, f.kind, access == Outside) })
	}
	for prefix, h := range m.more {
		mux.Handle(prefix, http.StripPrefix(strings.TrimSuffix(prefix, "/"), h))
	}
	mux.HandleFunc("GET /status.json", m.serveStatus)
	mux.HandleFunc("GET /events", m.serveEvents)
	mux.HandleFunc("GET /why", m.serveWhy)
	mux.HandleFunc("POST /ctl/{command}", m.serveControl)
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector{m})
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, text := access.refusal(in, r)
		switch {
		case status == 0 && access == Outside && r.URL.Path == "/" && !in.knows(r):
			in.ask(w, http.StatusOK, "")
			return
		case status == 0:
			mux.ServeHTTP(w, r)
			return
		case status == http.StatusUnauthorized:
			w.Header().Set("WWW-Authenticate", "Bearer")
		}
		refuse(w, status, text)
	})
}

// OnThisHost lets who is on this host read what a handler has, and nobody else: not a page from elsewhere in a browser of this host either.
func OnThisHost(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			refuse(w, http.StatusMethodNotAllowed, r.Method+" changes nothing here; use GET")
			return
		}
		if status, text := Loopback.refusal(nil, r); status != 0 {
			refuse(w, status, text)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// servePage sends a part of the page. The page may load nothing but its own parts. known: the cookie of who asks is enough for commands.
func servePage(w http.ResponseWriter, file, kind string, known bool) {
	text, err := page.ReadFile(file)
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	if known {
		text = bytes.Replace(text, []byte("<html "), []byte("<html data-known "), 1)
	}
	pageHeaders(w.Header(), kind, "'none'")
	_, _ = w.Write(text) // the client may have closed the connection
}

// query reads which rows of a view are wanted, and returns what makes such views.
func (m *Monitor) query(r *http.Request, most int) (func() View, error) {
	q := r.URL.Query()
	w := Rows{Filter: q.Get("filter"), Sort: q.Get("sort"), Limit: most}
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("limit=%s is no number of rows; use a whole number, or 0 for all", text)
		}
		w.Limit = n
	}
	if w.Sort != "" && byColumn[w.Sort] == nil {
		return nil, fmt.Errorf("sort=%s is no column; use one of %s", w.Sort, strings.Join(sortKeys, ", "))
	}
	for name, to := range map[string]*bool{"back": &w.Back, "group": &w.Group} {
		if text := q.Get(name); text != "" {
			on, err := strconv.ParseBool(text)
			if err != nil {
				return nil, fmt.Errorf("%s=%s is neither true nor false", name, text)
			}
			*to = on
		}
	}
	return func() View { return m.View().Page(w) }, nil
}

func (m *Monitor) serveStatus(w http.ResponseWriter, r *http.Request) {
	view, err := m.query(r, 0)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	reply(w, http.StatusOK, view())
}

// An event has at most eventRows rows. A viewer must read it within eventTime.
const (
	eventRows = 200
	eventTime = 10 * time.Second
)

// serveEvents sends a view each time there is a new one, until the run is over or the viewer disconnects.
func (m *Monitor) serveEvents(w http.ResponseWriter, r *http.Request) {
	view, err := m.query(r, eventRows)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	tick := time.NewTicker(2 * minInterval)
	defer tick.Stop()
	control := http.NewResponseController(w)
	for {
		last := m.ended()
		v := view()
		if err := sendEvent(w, control, v); err != nil || last || v.State == "over" {
			return // or the viewer does not read, or has disconnected
		}
		select {
		case <-tick.C:
		case <-m.over:
		case <-r.Context().Done():
			return
		}
	}
}

// sendEvent sends one view.
func sendEvent(w io.Writer, control *http.ResponseController, v View) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	// A writer without deadlines is not a connection.
	if err := control.SetWriteDeadline(time.Now().Add(eventTime)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := fmt.Fprintf(w, "event: view\ndata: %s\n\n", text); err != nil {
		return err
	}
	return control.Flush()
}

func (m *Monitor) serveWhy(w http.ResponseWriter, r *http.Request) {
	chain, err := m.why(r.Context(), r.URL.Query().Get("client"))
	if err != nil {
		refuse(w, http.StatusNotFound, err.Error())
		return
	}
	reply(w, http.StatusOK, answer{Why: strings.Join(chain, "; "), Chain: chain})
}

func (m *Monitor) serveControl(w http.ResponseWriter, r *http.Request) {
	command := r.PathValue("command")
	done, err := m.Control(command, r.URL.Query().Get("t"))
	if err != nil {
		refuse(w, http.StatusConflict, err.Error())
		return
	}
	if command == "pause" || command == "step" {
		switch shot := m.awaitStill(r.Context()); {
		case stops(&shot) && shot.Halt.Still:
			done = fmt.Sprintf("paused at %v", shot.Now)
		case shot.Halt.Still:
			done += ", as soon as its rate permits"
		}
	}
	reply(w, http.StatusOK, answer{Done: done})
}

// thisHost is the host of an address without one.
const thisHost = "127.0.0.1"

// AccessOf returns the kind of an address to listen at, and the address with a host. An address without a host means this host alone,
// not all of its addresses. The port may be 0.
func AccessOf(addr string) (Access, string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "" {
		return 0, "", fmt.Errorf("%q is no address to listen at; use host:port, or :port for this host alone", addr)
	}
	if host == "" {
		host = thisHost
	}
	addr = net.JoinHostPort(host, port)
	if loopback(host) {
		return Loopback, addr, nil
	}
	return Outside, addr, nil
}

// loopback reports whether a host is this one. It asks no name server.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// refusal says why a request is refused, with an HTTP status; 0: it is not. A part of the page, and the login, say nothing of the run.
//
// A browser must not be made to ask in the name of its user. A page from elsewhere would have to know the token, and to set a header,
// which no form can. A name that points to this host by DNS rebinding is not a loopback name, so it is refused. An Origin must be that
// of the page itself.
func (a Access) refusal(in *login, r *http.Request) (status int, text string) {
	if a == Private {
		return 0, ""
	}
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	origin := r.Header.Get("Origin")
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	_, isPage := pageFiles[r.URL.Path]
	scheme := "http://"
	if r.TLS != nil {
		scheme = "https://"
	}
	switch {
	case a == Loopback && !loopback(host):
		return http.StatusForbidden, fmt.Sprintf("%q is no name of this host; use localhost or 127.0.0.1", r.Host)
	case origin != "" && origin != scheme+r.Host:
		return http.StatusForbidden, fmt.Sprintf("a page of %s may not ask this run", origin)
	case reads && (a == Loopback || isPage), a == Outside && r.URL.Path == "/login", a == Outside && in.knows(r), hasToken(r, in.password):
		return 0, ""
	case a == Outside:
		return http.StatusUnauthorized, "log in on the page first, or show the password as Authorization: Bearer (METASIM_HTTP_TOKEN of metasim why and ctl)"
	}
	return http.StatusUnauthorized, "the token is missing or wrong; use the whole address that metasim run printed, with #token= and what follows"
}
