package doctor

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"time"

	"metasim/internal/outward"
	"metasim/run/launch"
	"metasim/wire"
	"metasim/wire/transport"
	"metasim/wire/transport/all"
	"metasim/wire/transport/secure"
)

// reachPatience is how long a host tries to reach this one.
const reachPatience = 5 * time.Second

// A door is where other hosts try to reach this one: what a run would open to their relays.
type door struct {
	listener *transport.Listener
	invitation
}

// An invitation is what a host is told, on the standard input of metasim there: the token is in no command line, and ssh carries no environment.
type invitation struct {
	Server string `json:"server"` // the URL of the listener
	Here   string `json:"here"`   // the address of this host, for a listener at all interfaces
	Token  string `json:"token"`
}

// A reached is what the host answers.
type reached struct {
	Address   string        `json:"address"`
	RoundTrip time.Duration `json:"round_trip_ns"`
	Error     string        `json:"error,omitempty"`
}

// openDoor listens as a run does that starts clients on other hosts.
func openDoor(o *Options) (*door, error) {
	scheme := cmp.Or(o.Transport, "quic")
	d := &door{invitation: invitation{Here: cmp.Or(outward.Address(), "localhost"), Token: rand.Text()}}
	identity, err := secure.NewServer(secure.Files{})
	if err != nil {
		return nil, err
	}
	if err = identity.Admit(scheme == "quic", d.Token); err != nil {
		return nil, err
	}
	if d.listener, err = all.TableOf(identity).Listen(scheme, cmp.Or(o.Listen, "0.0.0.0:0")); err != nil {
		return nil, err
	}
	d.Server = d.listener.URL()
	go func() {
		for {
			conn, err := d.listener.Accept()
			if err != nil {
				return // the door is closed
			}
			go respond(conn)
		}
	}()
	return d, nil
}

// respond answers whatever comes, until the peer closes.
func respond(conn wire.Conn) {
	for {
		if _, err := conn.Read(); err != nil {
			break
		}
		if conn.Write([]wire.Packet{{Body: wire.Goodbye{}}}) != nil {
			break
		}
	}
	_ = conn.Close() // the peer has what it wants
}

// asks has a host reach this one, by a command that starts metasim reach there.
func (d *door) asks(ctx context.Context, here, host string, argv []string) Check {
	c := Check{Name: "reach", State: Good}
	told, err := json.Marshal(d.invitation)
	var r reached
	var out []byte
	if err == nil {
		out, err = command(ctx, 2*patience, bytes.NewReader(told), argv...)
	}
	if e := json.Unmarshal(out, &r); e != nil || r.Address == "" {
		c.State, c.Found = Bad, "it is not known whether it reaches this host: "+cmp.Or(errors.Join(err, e), errors.New("what it answers is not from metasim reach")).Error()
		c.Remedy = "see that this works: " + strings.Join(argv, " ")
		return c
	}
	over, other := "UDP", ", or use --transport tls, which goes over TCP"
	if strings.HasPrefix(d.Server, "tls:") {
		over, other = "TCP", ""
	}
	if r.Error == "" {
		c.Found = fmt.Sprintf("it reaches this host at %s over %s, there and back in %v", r.Address, over, r.RoundTrip.Round(time.Microsecond))
		return c
	}
	c.State, c.Found = Bad, fmt.Sprintf("host %s cannot reach %s over %s: %s", host, r.Address, over, r.Error)
	c.Remedy = fmt.Sprintf("open %s to %s in the firewalls between them, name another address and port of it with --listen, for this and for the run%s", over, here, other)
	return c
}

// Reach reads from in at which address another host listens, tries to reach it as the relay of a run would, and writes to out what came of that.
func Reach(ctx context.Context, in io.Reader, out io.Writer) error {
	var i invitation
	if err := json.NewDecoder(in).Decode(&i); err != nil {
		return fmt.Errorf("standard input does not say whom to reach: %w; metasim doctor starts this command", err)
	}
	server := outward.From(i.Server, cmp.Or(launch.Caller(), i.Here))
	r := reached{Address: server}
	if u, err := url.Parse(server); err == nil {
		r.Address = u.Host
	}
	ctx, cancel := context.WithTimeout(ctx, reachPatience)
	defer cancel()
	var err error
	if r.RoundTrip, err = roundTrip(ctx, server, i.Token); err != nil {
		r.Error = why(ctx, server, err)
	}
	return json.NewEncoder(out).Encode(r)
}

// roundTrip returns the least time in which the server has answered.
func roundTrip(ctx context.Context, server, token string) (least time.Duration, err error) {
	const tries = 3
	conn, err := all.Table().DialAs(ctx, server, token)
	if err != nil {
		return 0, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // so that Read fails
	for range tries {
		began := time.Now()
		if err := conn.Write([]wire.Packet{{Body: wire.Hello{Version: wire.Version}}}); err != nil {
			return 0, err
		}
		if _, err := conn.Read(); err != nil {
			return 0, err
		}
		if took := time.Since(began); least == 0 || took < least {
			least = took
		}
	}
	if stop() {
		_ = conn.Close() // it has done what it was for
	}
	return least, nil
}

// why says why a host was not reached. That no server was started is not it.
func why(ctx context.Context, server string, err error) string {
	var op *net.OpError
	switch {
	case ctx.Err() != nil:
		return fmt.Sprintf("nothing came back within %v", reachPatience)
	case errors.As(err, &op):
		return op.Err.Error()
	}
	return strings.ReplaceAll(strings.TrimPrefix(err.Error(), "dial "+server+": "), "\n", "; ")
}
