package bus

import (
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// A URLError is an address of a bus that means nothing.
type URLError struct {
	URL  string
	What string // what is wrong, and what to write instead
}

func (e *URLError) Error() string { return fmt.Sprintf("lcm bus: %q %s", e.URL, e.What) }

// What LCM takes where an address says nothing.
const (
	defaultGroup = "239.255.76.67"
	defaultPort  = "7667"
	defaultHost  = "127.0.0.1"
	defaultTCPQ  = "7700"
)

// An address is what a URL says.
type address struct {
	raw    string
	scheme string         // udpm, tcpq or file
	group  netip.AddrPort // udpm
	ttl    int            // udpm: 0 stays on this host
	buffer int            // udpm: bytes of the socket's receive buffer; 0 for the default
	host   string         // tcpq: host:port
	path   string         // file
}

// CheckURL reports why a URL names no bus, as a *[URLError], or nil. Whether the bus can be had is another matter.
func CheckURL(rawURL string) error {
	_, err := parseURL(rawURL)
	return err
}

// Network names the network that a URL is of: the same for all URLs that say the same place in different words, ttl and
// buffers aside. A wrong URL is a *[URLError].
func Network(rawURL string) (string, error) {
	a, err := parseURL(rawURL)
	if err != nil {
		return "", err
	}
	switch a.scheme {
	case "udpm":
		return "udpm://" + a.group.String(), nil
	case "tcpq":
		return "tcpq://" + a.host, nil
	}
	return "file://" + a.path, nil
}

func parseURL(raw string) (address, error) {
	a := address{raw: raw}
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return a, a.wrong("has no scheme; use udpm://group:port, tcpq://host:port or file://path")
	}
	where, query, _ := strings.Cut(rest, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return a, a.wrong("has parameters that cannot be read (%v); use ?name=value&name=value", err)
	}
	a.scheme = scheme
	switch scheme {
	case "udpm":
		err = a.parseUDPM(where, values)
	case "tcpq":
		err = a.parseTCPQ(where)
	case "file":
		if a.path = where; where == "" {
			err = a.wrong("has no path; use file://path")
		}
	default:
		return a, a.wrong("has the scheme %q; use udpm, tcpq or file", scheme)
	}
	if err != nil {
		return a, err
	}
	for name := range values { // any one of them is an error
		return a, a.wrong("has a parameter %q, which %s does not know; leave it out", name, scheme)
	}
	return a, nil
}

func (a *address) wrong(format string, args ...any) error {
	return &URLError{URL: a.raw, What: fmt.Sprintf(format, args...)}
}

func (a *address) parseUDPM(where string, values url.Values) error {
	host, port, err := hostPort(where, defaultGroup, defaultPort)
	if err != nil {
		return a.wrong("has no group and port; use udpm://%s:%s", defaultGroup, defaultPort)
	}
	group, err := netip.ParseAddr(host)
	if err != nil || !group.Is4() || !group.IsMulticast() {
		return a.wrong("has the group %q; use an IPv4 multicast address, 224.0.0.0 to 239.255.255.255", host)
	}
	a.group = netip.AddrPortFrom(group, port)
	if a.ttl, err = a.number(values, "ttl", 255); err != nil {
		return err
	}
	a.buffer, err = a.number(values, "recv_buf_size", math.MaxInt32)
	return err
}

func (a *address) parseTCPQ(where string) error {
	host, port, err := hostPort(where, defaultHost, defaultTCPQ)
	if err != nil {
		return a.wrong("has no host and port; use tcpq://%s:%s", defaultHost, defaultTCPQ)
	}
	a.host = net.JoinHostPort(host, strconv.Itoa(int(port)))
	return nil
}

// number takes a parameter from 0 to most out of values.
func (a *address) number(values url.Values, name string, most int) (int, error) {
	defer values.Del(name)
	if !values.Has(name) {
		return 0, nil
	}
	n, err := strconv.Atoi(values.Get(name))
	if err != nil || n < 0 || n > most || len(values[name]) > 1 {
		return 0, a.wrong("has %s=%s; use one number from 0 to %d", name, strings.Join(values[name], ","), most)
	}
	return n, nil
}

// hostPort splits "host:port", either part of which may be missing.
func hostPort(s, host, port string) (string, uint16, error) {
	if s != "" && !strings.Contains(s, ":") {
		s += ":"
	}
	if s != "" {
		h, p, err := net.SplitHostPort(s)
		if err != nil {
			return "", 0, err
		}
		if h != "" {
			host = h
		}
		if p != "" {
			port = p
		}
	}
	n, err := strconv.ParseUint(port, 10, 16)
	return host, uint16(n), err
}
