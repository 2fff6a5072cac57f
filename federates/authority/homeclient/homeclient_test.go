package homeclient

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Who asks a homeserver with the wrong one of http and https is told the right one.
func TestWrongScheme(t *testing.T) {
	for _, c := range []struct {
		start        func(http.Handler) *httptest.Server
		is, not, say string
	}{
		{httptest.NewTLSServer, "https://", "http://", "it speaks TLS: write its URL with https://, and name its certificate with --home-cert or --homeserver-cert"},
		{httptest.NewServer, "http://", "https://", "it speaks no TLS: write its URL with http://"},
	} {
		served := c.start(http.NotFoundHandler())
		asks, err := New(Config{At: strings.Replace(served.URL, c.is, c.not, 1)})
		require.NoError(t, err)
		_, err = asks.Do(t.Context(), Request{Method: "GET", Path: "/v1/entities"}, nil, nil)
		require.ErrorContains(t, err, c.say)
		asks.http.CloseIdleConnections()
		served.Close()
	}
}
