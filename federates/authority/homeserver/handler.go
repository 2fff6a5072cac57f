package homeserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"metasim/federates/authority/home"
	"metasim/federates/authority/homeclient"
	"metasim/federates/authority/store"
	"metasim/federates/authority/tree"
)

// ServeHTTP answers a request.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	read := reads(r.Method)
	switch {
	case read && r.URL.Path == "/healthz" && s.take(s.addresses, addressOf(r)) > 0: // it asks the store, for anybody
		http.Error(w, "this address asks too often", http.StatusTooManyRequests)
	case read && r.URL.Path == "/healthz":
		s.serveHealth(w, r)
	case read && r.URL.Path == "/openapi.json":
		s.serveDocument(w, r)
	case read && r.URL.Path == "/metrics":
		s.serveMetrics(w, r)
	default:
		began := s.cfg.Now()
		in := s.request(w, r)
		out, audit := s.answerLater(r.Context(), in)
		if out.Forward != nil {
			out, audit = s.passOn(r.Context(), in, out.Forward, audit)
		}
		s.record(audit)
		s.send(w, &out)
		s.count.add(r.Method, audit.Status, audit.Outcome, s.cfg.Now().Sub(began))
	}
}

func addressOf(r *http.Request) string {
	address, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return address
}

func reads(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// request is what somebody asks, as package home reads it.
func (s *server) request(w http.ResponseWriter, r *http.Request) home.Request {
	in := home.Request{
		Method: r.Method, Path: r.URL.Path, Address: addressOf(r), Fresh: s.cfg.Draw(), Instance: r.Header.Get("Metasim-Instance"),
		ContentType: r.Header.Get("Content-Type"), IfMatch: strings.Join(r.Header.Values("If-Match"), ","), IfNoneMatch: strings.Join(r.Header.Values("If-None-Match"), ","),
	}
	in.Token, _ = strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	in.Trail, in.Route = names(r.Header.Get("Metasim-Trail")), names(r.Header.Get("Metasim-Route"))
	for name, values := range r.URL.Query() {
		for _, v := range values {
			in.Query = append(in.Query, [2]string{name, v})
		}
	}
	slices.SortFunc(in.Query, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	var err error
	in.Body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, home.MaxBody))
	if err != nil { // what is longer, or breaks off, is not half a body
		in.Body, in.TooLong = nil, true
	}
	return in
}

// names are those of a header, with commas between them.
func names(header string) (all []string) {
	if header == "" {
		return nil
	}
	for name := range strings.SplitSeq(header, ",") {
		all = append(all, strings.TrimSpace(name))
	}
	return all
}

// answerLater answers a request, and waits where it asks for mail that is not there.
func (s *server) answerLater(ctx context.Context, in home.Request) (home.Response, home.Audit) {
	var until time.Time
	again := time.NewTimer(lookAgain)
	defer again.Stop()
	for {
		account := s.whose(ctx, in)
		bell := s.bells.on(account) // before it looks: what comes after that rings
		out, audit := s.answer(ctx, in)
		now := time.Now()
		if until.IsZero() {
			until = now.Add(time.Duration(out.Waits) * time.Second)
		}
		if out.Waits == 0 || !now.Before(until) {
			return out, audit
		}
		again.Reset(min(lookAgain, until.Sub(now)))
		select {
		case <-bell:
		case <-again.C:
		case <-ctx.Done():
			return out, audit
		case <-s.ending:
			return out, audit
		}
	}
}

// passOn has another homeserver answer a request that reads.
func (s *server) passOn(ctx context.Context, in home.Request, f *home.Forward, audit home.Audit) (home.Response, home.Audit) {
	got, err := s.neighbours[f.To].Send(ctx, homeclient.Request{Method: "GET", Path: in.Path, Trail: f.Trail, Route: f.Route})
	if err != nil {
		return s.home.Refuse(s.now(), in, audit.Account, "homeserver-unreachable", f.To+" is to answer: "+err.Error(), 0)
	}
	audit.Status, audit.Detail = got.Status, f.To+" has answered"
	if got.Status >= 300 {
		audit.Outcome = "refused"
	}
	return home.Response{Status: got.Status, ContentType: got.Header.Get("Content-Type"), ETag: got.Header.Get("ETag"), Body: got.Body}, audit
}

// answer lets a request pass the limits, and has it handled in one transaction.
func (s *server) answer(ctx context.Context, in home.Request) (home.Response, home.Audit) {
	now := s.now()
	if wait := s.take(s.addresses, in.Address); wait > 0 {
		return s.home.Refuse(now, in, "", "too-many-requests", "address "+in.Address+" sends too many; wait "+strconv.Itoa(wait)+" s", wait)
	}
	var out home.Response
	var audit home.Audit
	var account string
	read := func(tx *tree.Tx) error {
		v := &view{tx: tx}
		account = s.home.Whose(v, in)
		return v.err
	}
	if err := s.cfg.Store.Query(ctx, store.LowLatency, read); err != nil {
		return s.failed(in, "", err)
	}
	if account != "" {
		if wait := s.take(s.accounts, account); wait > 0 {
			return s.home.Refuse(now, in, account, "too-many-requests", "account "+account+" sends too many; wait "+strconv.Itoa(wait)+" s", wait)
		}
	}
	var commands []home.Command
	handle := func(tx *tree.Tx) error {
		v := &view{tx: tx}
		if out, commands, audit = s.home.Handle(v, now, in); v.err != nil {
			return v.err
		}
		return v.apply(commands)
	}
	var err error
	if reads(in.Method) || account == "" { // who is nobody changes nothing, and does not make the store work
		err = s.cfg.Store.Query(ctx, s.cfg.Favor, handle)
	} else {
		_, err = s.cfg.Store.Transact(ctx, handle)
	}
	if err != nil {
		return s.failed(in, account, err)
	}
	s.bells.ring(home.MailFor(commands))
	return out, audit
}

// failed is the answer where the store does not do what it should.
func (s *server) failed(in home.Request, account string, err error) (home.Response, home.Audit) {
	name, detail := "internal", err.Error()
	if errors.Is(err, store.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		name = "store-unavailable"
		if !reads(in.Method) {
			detail += "; a change may have been made: read the resource before you try again"
		}
	}
	s.cfg.Log.Error("a request failed", "method", in.Method, "path", in.Path, "error", err)
	return s.home.Refuse(s.now(), in, account, name, detail, 0)
}

func (s *server) take(l *home.Limiter, name string) (wait int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return l.Take(s.now(), name)
}

// record writes a line of the audit log.
func (s *server) record(a home.Audit) {
	line, err := json.Marshal(a)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		_, err = s.cfg.Audit.Write(append(line, '\n'))
	}
	if err != nil {
		s.cfg.Log.Error("the audit log cannot be written", "error", err)
	}
}

func (s *server) send(w http.ResponseWriter, out *home.Response) {
	for name, value := range map[string]string{"Content-Type": out.ContentType, "ETag": out.ETag, "Location": out.Location, "Allow": out.Allow} {
		if value != "" {
			w.Header().Set(name, value)
		}
	}
	if out.Challenge {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	if out.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(out.RetryAfter))
	}
	w.WriteHeader(out.Status)
	_, _ = w.Write(out.Body) // the client may have closed the connection
}

func (s *server) serveHealth(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	err := s.cfg.Store.Query(r.Context(), store.Consistency, func(*tree.Tx) error { return nil })
	text := "ok\n"
	if err != nil {
		text = err.Error() + "\n"
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_, _ = io.WriteString(w, text) // the client may have closed the connection
}

func (s *server) serveDocument(w http.ResponseWriter, r *http.Request) {
	text, err := home.OpenAPI()
	if err != nil {
		out, audit := s.failed(s.request(w, r), "", err)
		s.record(audit)
		s.send(w, &out)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // the client may have closed the connection
}

// serveMetrics writes the text format of Prometheus, 0.0.4.
func (s *server) serveMetrics(w http.ResponseWriter, r *http.Request) {
	in := s.request(w, r)
	sizes, up := map[string]int{}, 1
	account := ""
	err := s.cfg.Store.Query(r.Context(), store.LowLatency, func(tx *tree.Tx) error {
		v := &view{tx: tx}
		account = s.home.Whose(v, in)
		for _, what := range home.Counted() {
			if n, err := tx.Get(tree.Path("/" + what)); err == nil {
				sizes[what] = n.ChildListLength
			}
		}
		return v.err
	})
	if err != nil {
		up = 0
	}
	if s.cfg.Outside && account == "" {
		out, audit := s.home.Refuse(s.now(), in, "", "unauthenticated", "other hosts reach this homeserver, so its figures are for accounts; show a token as Authorization: Bearer TOKEN", 0)
		s.record(audit)
		s.send(w, &out)
		return
	}
	var b strings.Builder
	head := func(name, kind, help string) string {
		name = "metasim_homeserver_" + name
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
		return name
	}
	name := head("nodes", "gauge", "What the tree has of each kind.")
	for _, what := range home.Counted() {
		fmt.Fprintf(&b, "%s{kind=%q} %d\n", name, what, sizes[what])
	}
	fmt.Fprintf(&b, "%s %d\n", head("store_up", "gauge", "1 while the tree can be read."), up)
	s.count.write(&b, head)
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write([]byte(b.String())) // the client may have closed the connection
}
