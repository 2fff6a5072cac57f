package names

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestURLsAreReadAsLCMReadsThem(t *testing.T) {
	group := netip.MustParseAddrPort("239.255.76.67:7667")
	for raw, want := range map[string]Address{
		"udpm://":                             {Scheme: "udpm", Group: group},
		"udpm://?ttl=1":                       {Scheme: "udpm", Group: group, TTL: 1},
		"udpm://239.255.76.67":                {Scheme: "udpm", Group: group},
		"udpm://:7667?ttl=0":                  {Scheme: "udpm", Group: group},
		"udpm://224.1.2.3:1?ttl=255":          {Scheme: "udpm", Group: netip.MustParseAddrPort("224.1.2.3:1"), TTL: 255},
		"udpm://?recv_buf_size=2097152&ttl=3": {Scheme: "udpm", Group: group, TTL: 3, Buffer: 2097152},
		"tcpq://":                             {Scheme: "tcpq", Where: "127.0.0.1:7700"},
		"tcpq://:7701":                        {Scheme: "tcpq", Where: "127.0.0.1:7701"},
		"tcpq://example.org":                  {Scheme: "tcpq", Where: "example.org:7700"},
		"tcpq://[::1]:5":                      {Scheme: "tcpq", Where: "[::1]:5"},
		"file://run.lcmlog":                   {Scheme: "file", Where: "run.lcmlog"},
		"file:///tmp/a b/run%20.lcmlog":       {Scheme: "file", Where: "/tmp/a b/run%20.lcmlog"},
	} {
		got, err := Parse(raw)
		require.NoError(t, err, raw)
		if want.URL = raw; want.Scheme == "udpm" {
			want.Where = want.Group.String()
		}
		assert.Equal(t, want, got)
	}
}

func TestABadURLIsOneClearError(t *testing.T) {
	for raw, want := range map[string]string{
		"":                        `"" has no scheme; use udpm://group:port, tcpq://host:port or file://path`,
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
		_, err := Parse(raw)
		var wrong *URLError
		require.ErrorAs(t, err, &wrong, raw)
		assert.ErrorContains(t, err, want)
	}
}

func TestNetwork(t *testing.T) {
	for url, want := range map[string]string{
		"udpm://":                              "udpm://239.255.76.67:7667",
		"udpm://239.255.76.67:7667?ttl=1":      "udpm://239.255.76.67:7667",
		"udpm://239.255.76.67?recv_buf_size=1": "udpm://239.255.76.67:7667",
		"tcpq://":                              "tcpq://127.0.0.1:7700",
		"tcpq://:7701":                         "tcpq://127.0.0.1:7701",
		"file://x":                             "file://x",
	} {
		got, err := Parse(url)
		require.NoError(t, err)
		assert.Equal(t, want, got.Network(), url)
	}
	_, err := Parse("udp://")
	assert.ErrorContains(t, err, "scheme")
}
