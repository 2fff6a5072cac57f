package bus

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestURLsAreReadAsLCMReadsThem(t *testing.T) {
	group := netip.MustParseAddrPort("239.255.76.67:7667")
	for raw, want := range map[string]address{
		"udpm://":                             {scheme: "udpm", group: group},
		"udpm://?ttl=1":                       {scheme: "udpm", group: group, ttl: 1},
		"udpm://239.255.76.67":                {scheme: "udpm", group: group},
		"udpm://:7667?ttl=0":                  {scheme: "udpm", group: group},
		"udpm://224.1.2.3:1?ttl=255":          {scheme: "udpm", group: netip.MustParseAddrPort("224.1.2.3:1"), ttl: 255},
		"udpm://?recv_buf_size=2097152&ttl=3": {scheme: "udpm", group: group, ttl: 3, buffer: 2097152},
		"tcpq://":                             {scheme: "tcpq", host: "127.0.0.1:7700"},
		"tcpq://:7701":                        {scheme: "tcpq", host: "127.0.0.1:7701"},
		"tcpq://example.org":                  {scheme: "tcpq", host: "example.org:7700"},
		"tcpq://[::1]:5":                      {scheme: "tcpq", host: "[::1]:5"},
		"file://run.lcmlog":                   {scheme: "file", path: "run.lcmlog"},
		"file:///tmp/a b/run%20.lcmlog":       {scheme: "file", path: "/tmp/a b/run%20.lcmlog"},
	} {
		got, err := parseURL(raw)
		require.NoError(t, err, raw)
		want.raw = raw
		assert.Equal(t, want, got)
	}
}

func TestABadURLIsOneClearError(t *testing.T) {
	for raw, want := range map[string]string{
		"":                        `lcm bus: "" has no scheme; use udpm://group:port, tcpq://host:port or file://path`,
		"239.255.76.67:7667":      "has no scheme",
		"memq://":                 `has the scheme "memq"; use udpm, tcpq or file`,
		"udpm://10.0.0.1:7667":    `has the group "10.0.0.1"; use an IPv4 multicast address`,
		"udpm://[ff02::1]:7667":   `has the group "ff02::1"`,
		"udpm://lcm:7667":         `has the group "lcm"`,
		"udpm://239.1.1.1:70000":  "has no group and port; use udpm://239.255.76.67:7667",
		"udpm://239.1.1.1:1:2":    "has no group and port",
		"udpm://?ttl=256":         "has ttl=256; use one number from 0 to 255",
		"udpm://?ttl=-1":          "has ttl=-1",
		"udpm://?ttl=":            "has ttl=;",
		"udpm://?ttl=1&ttl=2":     "has ttl=1,2; use one number",
		"udpm://?recv_buf_size=x": "has recv_buf_size=x; use one number from 0 to 2147483647",
		"udpm://?tll=1":           `has a parameter "tll", which udpm does not know; leave it out`,
		"udpm://?ttl=%zz":         "has parameters that cannot be read",
		"tcpq://host:port":        "has no host and port; use tcpq://127.0.0.1:7700",
		"tcpq://host:1?ttl=1":     `has a parameter "ttl", which tcpq does not know`,
		"file://":                 "has no path; use file://path",
		"file://a?mode=r":         `has a parameter "mode", which file does not know`,
	} {
		err := CheckURL(raw)
		var wrong *URLError
		require.ErrorAs(t, err, &wrong, raw)
		assert.ErrorContains(t, err, want)
		_, err = Open(raw, Options{})
		assert.ErrorAs(t, err, &wrong)
	}
}

func TestABusThatCannotBeHadSaysWhy(t *testing.T) {
	for _, url := range []string{"tcpq://127.0.0.1:1", "file:///no/such/directory/x.lcmlog"} {
		_, err := Open(url, Options{})
		require.Error(t, err)
		var wrong *URLError
		assert.NotErrorAs(t, err, &wrong)
		assert.ErrorContains(t, err, "lcm bus: "+url)
	}
}
