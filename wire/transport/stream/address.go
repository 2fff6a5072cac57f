package stream

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
)

// address reads a URL: "unix:///run/x/s.sock" or "tcp://127.0.0.1:4000".
func address(rawURL string) (network, addr string, err error) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return "", "", fmt.Errorf("stream: %q is no URL (%w); use unix:///path or tcp://host:port", rawURL, err)
	}
	switch u.Scheme {
	case "unix":
		path := filepath.FromSlash(u.Path)
		if runtime.GOOS == "windows" {
			path = strings.TrimPrefix(path, `\`) // of unix:///C:/x
		}
		if u.Host != "" || !filepath.IsAbs(path) {
			return "", "", fmt.Errorf("stream: %q has no absolute path; use unix:///path, with three slashes", rawURL)
		}
		return "unix", path, checkPath(path)
	case "tcp":
		if _, port, err := net.SplitHostPort(u.Host); err != nil || port == "" || u.Path != "" {
			return "", "", fmt.Errorf("stream: %q has no host and port, or more than these; use tcp://host:port", rawURL)
		}
		return "tcp", u.Host, nil
	}
	return "", "", fmt.Errorf("stream: %q is neither unix:///path nor tcp://host:port; use one of these", rawURL)
}

// checkPath refuses what the system would cut or refuse without saying why: sockaddr_un holds 108 bytes with the final
// zero, 104 on the descendants of BSD.
func checkPath(path string) error {
	limit := 107
	switch runtime.GOOS {
	case "darwin", "freebsd", "netbsd", "openbsd", "dragonfly":
		limit = 103
	}
	if len(path) > limit {
		return fmt.Errorf("stream: the socket path %q has %d bytes, and the system allows %d; use a shorter directory, "+
			"as by TMPDIR=/tmp", path, len(path), limit)
	}
	return nil
}
