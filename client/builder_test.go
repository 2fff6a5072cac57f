package client_test

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/client"
	"metasim/internal/shortdir"
	"metasim/metasim"
	"metasim/server"
	"metasim/wire"
	"metasim/wire/transport/mem"
	"metasim/wire/transport/stream"
)

// A mistake in a declaration is returned at once where that is possible, and by Complete, which then sends nothing.
func TestBuilderMistakes(t *testing.T) {
	for is, do := range map[string]func(b *client.Builder) error{
		`client "a": a publication needs a channel name`: func(b *client.Builder) error {
			b.Publication("")
			return nil
		},
		`client "a": subscription "*" is neither a channel name nor a regular expression: ` +
			"error parsing regexp: missing argument to repetition operator: `*`": func(b *client.Builder) error {
			require.Error(t, b.Subscribe("*", nil))
			return b.Subscribe("*", nil)
		},
		`client "a": the reaction time is -1ns; use a positive duration, or 0`: func(b *client.Builder) error { return b.Reaction(-1) },
		`client "a": a publication with a name of 2000 bytes ("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"...): ` +
			"a name has at most 1024; use a shorter name": func(b *client.Builder) error {
			b.Publication(strings.Repeat("x", 2000))
			return nil
		},
	} {
		b := client.NewBuilder("a")
		if err := do(b); err != nil {
			require.EqualError(t, err, is)
		}
		conn, other := mem.Pipe("client", "server")
		_, err := b.Complete(t.Context(), client.WithConn(conn))
		require.ErrorContains(t, err, is)
		_, err = other.Read()
		require.Error(t, err, "the connection is closed, and nothing was sent")
	}
	_, err := client.NewBuilder("a").Complete(t.Context())
	require.EqualError(t, err, `client "a": no server; set METASIM_SERVER, or use WithServer`)
	_, err = client.NewBuilder("").Complete(t.Context(), client.WithServer("mem:"))
	require.EqualError(t, err, "no name; give NewBuilder one, or set METASIM_CLIENT")
	_, err = client.NewBuilder("a").Complete(t.Context(), client.WithServer("unix://"+filepath.Join(t.TempDir(), "none")))
	require.ErrorContains(t, err, `client "a": `)
}

// After Complete the channels are fixed.
func TestErrComplete(t *testing.T) {
	b := client.NewBuilder("a")
	early := b.Publication("X")
	require.Equal(t, "X", early.Channel())
	require.Same(t, early, b.Publication("X"))
	require.ErrorContains(t, early.Publish(nil), "call Complete first")
	c, p := join(t, b)
	require.Same(t, early, b.Publication("X"), "that is no new one")
	require.ErrorIs(t, b.Publication("Y").Publish(nil), client.ErrComplete)
	require.ErrorIs(t, b.Subscribe("Y", nil), client.ErrComplete)
	require.ErrorIs(t, b.Reaction(time.Second), client.ErrComplete)
	require.ErrorIs(t, b.SendsOnlyEvery(time.Second), client.ErrComplete)
	_, err := b.Complete(t.Context())
	require.ErrorIs(t, err, client.ErrComplete)
	p.quits(c)
}

// What the environment says holds where no option says otherwise; a connection needs none of it.
func TestEnvironment(t *testing.T) {
	l, err := stream.Unix().Listen("unix://" + filepath.Join(shortdir.Make(t), "s"))
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	hellos := make(chan wire.Hello, 1)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			packets, err := conn.Read()
			if err == nil {
				hellos <- packets[0].Body.(wire.Hello)
			}
			_ = conn.Close() // the client is refused without a word
		}
	}()
	t.Setenv("METASIM_SERVER", "unix:///nobody/is/here")
	t.Setenv("METASIM_TOKEN", "env-token")
	t.Setenv("METASIM_CLIENT", "env-name")
	for _, c := range []struct {
		options     []client.Option
		name, token string
	}{
		{[]client.Option{client.WithServer(l.URL())}, "env-name", "env-token"},
		{[]client.Option{client.WithServer(l.URL()), client.WithName("option"), client.WithToken("secret")}, "option", "secret"},
	} {
		_, err := client.NewBuilder("builder").Complete(t.Context(), c.options...)
		require.ErrorContains(t, err, "the server went away")
		h := <-hellos
		require.Equal(t, []string{c.name, c.token}, []string{h.Name, h.Token})
	}
	t.Setenv("METASIM_SERVER", l.URL())
	t.Setenv("METASIM_CLIENT", "")
	_, err = client.NewBuilder("builder").Complete(t.Context())
	require.Error(t, err)
	require.Equal(t, "builder", (<-hellos).Name)
	t.Setenv("METASIM_CLIENT", "env-name")
	c, p := join(t, client.NewBuilder("builder"))
	require.Equal(t, "builder", p.hello.Name)
	require.Empty(t, p.hello.Token)
	p.quits(c)
}

// A refusal reaches the caller as what it is.
func TestRefused(t *testing.T) {
	srv, err := server.New(server.Config{Core: metasim.Config{Clients: []string{"a", "b"}}, Token: "secret"})
	require.NoError(t, err)
	net := mem.NewNet()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- srv.Accept(net) }()
	go func() { ended <- srv.Serve(ctx) }()
	for _, c := range []struct {
		name, token string
		reason      wire.Reason
	}{{"z", "secret", wire.UnknownName}, {"a", "guessed", wire.BadToken}} {
		conn, err := net.Dial(ctx)
		require.NoError(t, err)
		_, err = client.NewBuilder(c.name).Complete(ctx, client.WithConn(conn), client.WithToken(c.token))
		require.ErrorIs(t, err, &wire.RefusedError{Reason: c.reason})
		require.NotErrorIs(t, err, &wire.RefusedError{Reason: wire.NameTaken})
		var refused *wire.RefusedError
		require.ErrorAs(t, err, &refused)
		require.NotEmpty(t, refused.Text)
	}
	cancel()
	require.Error(t, errors.Join(<-ended, <-ended))
}

// Nothing that is exported tells how far a client was authorized: it depends on real time.
func TestTheGrantIsHidden(t *testing.T) {
	may := map[string]bool{"Now": true, "Until": true, "InRun": true, "Given": true, "Publishes": true, "Is": true} // the simulator's own deeds, and the run's end
	for _, typ := range []reflect.Type{
		reflect.TypeFor[*client.Client](), reflect.TypeFor[*client.Publication](), reflect.TypeFor[*client.Timer](),
		reflect.TypeFor[*client.Builder](), reflect.TypeFor[*client.Host](),
	} {
		for i := range typ.Elem().NumField() {
			require.False(t, typ.Elem().Field(i).IsExported(), "%v", typ)
		}
		for i := range typ.NumMethod() {
			m := typ.Method(i)
			for o := range m.Type.NumOut() {
				switch m.Type.Out(o) {
				case reflect.TypeFor[metasim.Instant](), reflect.TypeFor[metasim.Time](), reflect.TypeFor[bool](), reflect.TypeFor[int]():
					require.True(t, may[m.Name], "%v.%s returns a %v", typ, m.Name, m.Type.Out(o))
				}
			}
		}
	}
	var fields []string
	for i := range reflect.TypeFor[client.Message]().NumField() {
		fields = append(fields, reflect.TypeFor[client.Message]().Field(i).Name)
	}
	require.Equal(t, []string{"From", "Channel", "Seq", "Sent", "Due", "Payload"}, fields)
}
