package monitor

import (
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// Access says who is behind a listener, and what they may do.
type Access uint8

const (
	// Private: a unix socket that only this user may connect to. Nothing is asked.
	Private Access = iota
	// Loopback: an address of this host, reached by every user of it and, through a browser, by every page that it shows.
	// Anybody on this host may look; a command wants the token.
	Loopback
	// Outside: any other address. Everything but the empty page wants the token.
	Outside
)

// thisHost is meant by an address without a host.
const thisHost = "127.0.0.1"

// AccessOf says what kind of address this is to listen at, and returns it with a host: none means this host alone, not all
// of its addresses. The port may be 0.
func AccessOf(addr string) (Access, string, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "" {
		return 0, "", fmt.Errorf("monitor: %q is no address to listen at; use host:port, or :port for this host alone", addr)
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

// loopback reports whether a host is this one, whoever answers questions for names.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// guard lets those through who may do what they ask for.
//
// A browser must not be made to ask in the name of its user: a page from elsewhere would have to know the token, and to set
// a header, which no form can. A name that somebody has pointed to this host (DNS rebinding) is no loopback name, so it is
// refused; and an Origin must be the page's own.
func guard(access Access, token string, next http.Handler) http.Handler {
	if access == Private {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		origin := r.Header.Get("Origin")
		switch {
		case access == Loopback && !loopback(host):
			refuse(w, http.StatusForbidden, fmt.Sprintf("%q is no name of this host; use localhost or 127.0.0.1", r.Host))
		case origin != "" && origin != "http://"+r.Host:
			refuse(w, http.StatusForbidden, fmt.Sprintf("a page of %s may not ask this run", origin))
		case wantsToken(access, r) && !shows(r, token):
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, http.StatusUnauthorized, "the token is missing or wrong; use the whole address that metasim run printed, with #token= and what follows")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// wantsToken reports whether what is asked for is for those alone who know the token. The page's own files tell nothing.
func wantsToken(access Access, r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return true
	}
	_, own := pageFiles[r.URL.Path]
	return access == Outside && !own
}

func shows(r *http.Request, token string) bool {
	shown, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && token != "" && subtle.ConstantTimeCompare([]byte(shown), []byte(token)) == 1
}
