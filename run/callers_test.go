package run

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// Many strangers who say nothing, or not all, take no place from who asks; and whoever is being answered keeps its own.
func TestCallers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c := &callers{Listener: l, most: 4}
	slow, goOn := make(chan struct{}), make(chan struct{})
	s := &http.Server{ConnContext: c.context, Handler: c.handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			slow <- struct{}{}
			<-goOn
		}
		_, _ = io.WriteString(w, r.URL.Path) // the test looks at what comes
	}))}
	done := make(chan error)
	go func() { done <- s.Serve(c) }()
	dial := func(text string) net.Conn {
		conn, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() }) // it may be closed already
		_, err = io.WriteString(conn, text)
		require.NoError(t, err)
		return conn
	}
	heard := func(conn net.Conn) string {
		r, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err)
		b, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		return string(b)
	}
	patient := dial("GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
	<-slow
	var strangers []net.Conn
	for i := range 100 {
		strangers = append(strangers, dial([]string{"", "GET / HTTP/1.1\r\nX-"}[i%2]))
		if i%10 == 9 {
			require.Equal(t, "/asked", heard(dial("GET /asked HTTP/1.1\r\nHost: h\r\n\r\n")), fmt.Sprint(i))
		}
	}
	for _, conn := range strangers[:90] {
		_, _ = io.ReadAll(conn) // it ends, well or by a reset
	}
	close(goOn)
	require.Equal(t, "/slow", heard(patient))
	require.NoError(t, s.Close())
	require.ErrorIs(t, <-done, http.ErrServerClosed)
}
