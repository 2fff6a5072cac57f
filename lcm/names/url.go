// Package names has the URLs of LCM networks and the names of channels on them: [Parse] parses a URL, [CheckChannel] checks a
// channel, and [Naming] names the channels on which the messages of a run are shown. It opens no network, so that a
// scenario can be checked without the code of networks.
package names

import (
	"cmp"
	"fmt"
	"math"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// A URLError is a URL that names no LCM network.
type URLError struct {
	URL  string
	What string // what is wrong, and what to write instead
}

func (e *URLError) Error() string { return fmt.Sprintf("%q %s", e.URL, e.What) }

// The parts of a network that LCM assumes when a URL leaves them out.
const (
	defaultGroup = "239.255.76.67"
	defaultPort  = "7667"
	defaultHost  = "127.0.0.1"
	defaultTCPQ  = "7700"
)

// An Address is a parsed URL of an LCM network.
type Address struct {
	URL    string
	Scheme string         // udpm, tcpq or file
	Group  netip.AddrPort // udpm: the multicast group
	TTL    int            // udpm: how many routers a datagram may pass; 0 stays on this host
	Buffer int            // udpm: bytes of the socket's receive buffer; 0: the default
	Where  string         // group:port, host:port, or the path of the event log
}

// Network identifies the network: it is the same for all URLs of one network, whatever their ttl and buffers.
func (a Address) Network() string { return a.Scheme + "://" + a.Where }

// Parse parses the URL of an LCM network. Its error is a *[URLError]. It does not check whether the network is available.
func Parse(raw string) (Address, error) {
	a := Address{URL: raw}
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return a, a.wrong("has no scheme; use udpm://group:port, tcpq://host:port or file://path")
	}
	where, query, _ := strings.Cut(rest, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return a, a.wrong("has parameters that cannot be read (%v); use ?name=value&name=value", err)
	}
	a.Scheme = scheme
	switch scheme {
	case "udpm":
		err = a.parseUDPM(where, values)
	case "tcpq":
		err = a.parseTCPQ(where)
	case "file":
		if a.Where = where; where == "" {
			err = a.wrong("has no path; use file://path")
		}
	default:
		err = a.wrong("has the scheme %q; use udpm, tcpq or file", scheme)
	}
	if err != nil {
		return a, err
	}
	for name := range values { // each is an error
		return a, a.wrong("has a parameter %q, which %s does not know; leave it out", name, scheme)
	}
	return a, nil
}

func (a *Address) wrong(format string, args ...any) error {
	return &URLError{URL: a.URL, What: fmt.Sprintf(format, args...)}
}

func (a *Address) parseUDPM(where string, values url.Values) error {
	host, port, err := hostPort(where, defaultGroup, defaultPort)
	if err != nil {
		return a.wrong("has no group and port; use udpm://%s:%s", defaultGroup, defaultPort)
	}
	group, err := netip.ParseAddr(host)
	if err != nil || !group.Is4() || !group.IsMulticast() {
		return a.wrong("has the group %q; use an IPv4 multicast address, 224.0.0.0 to 239.255.255.255", host)
	}
	a.Group = netip.AddrPortFrom(group, port)
	a.Where = a.Group.String()
	if a.TTL, err = a.number(values, "ttl", 255); err != nil {
		return err
	}
	a.Buffer, err = a.number(values, "recv_buf_size", math.MaxInt32)
	return err
}

func (a *Address) parseTCPQ(where string) error {
	host, port, err := hostPort(where, defaultHost, defaultTCPQ)
	if err != nil {
		return a.wrong("has no host and port; use tcpq://%s:%s", defaultHost, defaultTCPQ)
	}
	a.Where = net.JoinHostPort(host, strconv.Itoa(int(port)))
	return nil
}

// number removes a parameter from values and returns it: a number from 0 to most.
func (a *Address) number(values url.Values, name string, most int) (int, error) {
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

// hostPort splits "host:port". host and port are the defaults for parts that are missing.
func hostPort(s, host, port string) (string, uint16, error) {
	if !strings.Contains(s, ":") {
		s += ":"
	}
	h, p, err := net.SplitHostPort(s)
	if err != nil {
		return "", 0, err
	}
	n, err := strconv.ParseUint(cmp.Or(p, port), 10, 16)
	return cmp.Or(h, host), uint16(n), err
}
