package monitor

import (
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

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

// refusal says why a request is refused, with an HTTP status; 0: it is not. isPage reports whether the request is for a part of the page,
// which says nothing of the run.
//
// A browser must not be made to ask in the name of its user. A page from elsewhere would have to know the token, and to set a header,
// which no form can. A name that points to this host by DNS rebinding is not a loopback name, so it is refused. An Origin must be that
// of the page itself.
func (a Access) refusal(token string, isPage bool, r *http.Request) (status int, text string) {
	if a == Private {
		return 0, ""
	}
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	origin := r.Header.Get("Origin")
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	switch {
	case a == Loopback && !loopback(host):
		return http.StatusForbidden, fmt.Sprintf("%q is no name of this host; use localhost or 127.0.0.1", r.Host)
	case origin != "" && origin != "http://"+r.Host:
		return http.StatusForbidden, fmt.Sprintf("a page of %s may not ask this run", origin)
	case reads && (a == Loopback || isPage) || hasToken(r, token):
		return 0, ""
	}
	return http.StatusUnauthorized, "the token is missing or wrong; use the whole address that metasim run printed, with #token= and what follows"
}

func hasToken(r *http.Request, token string) bool {
	shown, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && token != "" && subtle.ConstantTimeCompare([]byte(shown), []byte(token)) == 1
}
