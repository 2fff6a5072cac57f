package monitor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// A Remote is a run that goes on somewhere else.
type Remote struct {
	where  string // for people
	socket string // its path; empty over HTTP
	base   string
	token  string
	client *http.Client
}

// dialSocket asks over a unix socket.
func dialSocket(path, dir string) *Remote {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	return &Remote{
		where: fmt.Sprintf("the run in %s", dir), socket: path, base: "http://run",
		client: &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}},
	}
}

// Dial asks over HTTP, at an address as metasim prints it: http://host:port/#token=..., or host:port, or :port of this host,
// where only questions are asked. The token of an address without one is the one given, if any.
func Dial(address, token string) (*Remote, error) {
	full := address
	if !strings.Contains(full, "://") {
		full = "http://" + full
	}
	u, err := url.Parse(full)
	if err != nil || u.Scheme != "http" || u.Port() == "" {
		return nil, fmt.Errorf("monitor: %q is no address of a run; use http://host:port/#token=..., as metasim prints it", address)
	}
	host := u.Host
	if u.Hostname() == "" {
		host = net.JoinHostPort(thisHost, u.Port())
	}
	fragment, err := url.ParseQuery(u.Fragment)
	if err != nil {
		return nil, fmt.Errorf("monitor: what follows # in %q is no token: %w", address, err)
	}
	if shown := fragment.Get("token"); shown != "" {
		token = shown
	}
	return &Remote{
		where: host, base: "http://" + host, token: token,
		client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true, Proxy: nil}},
	}, nil
}

// answers reports whether somebody listens at the socket.
func (r *Remote) answers() bool {
	c, err := net.Dial("unix", r.socket)
	return err == nil && c.Close() == nil
}

// Why asks why a client does not go on, or for an empty name why the run does not.
func (r *Remote) Why(ctx context.Context, client string) (string, error) {
	var a answer
	err := r.ask(ctx, http.MethodGet, "/why?client="+url.QueryEscape(client), &a)
	return a.Why, err
}

// Control tells the run what to do: see Monitor.Control.
func (r *Remote) Control(ctx context.Context, command, at string) (string, error) {
	path := "/ctl/" + url.PathEscape(command)
	if at != "" {
		path += "?t=" + url.QueryEscape(at)
	}
	var a answer
	err := r.ask(ctx, http.MethodPost, path, &a)
	return a.Done, err
}

// View asks what the run looks like.
func (r *Remote) View(ctx context.Context) (View, error) {
	var v View
	err := r.ask(ctx, http.MethodGet, "/status.json", &v)
	return v, err
}

// maxAnswer bounds what is read of an answer: 1 GiB, as a run may have a million clients.
const maxAnswer = 1 << 30

func (r *Remote) ask(ctx context.Context, method, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, r.base+path, nil)
	if err != nil {
		return err
	}
	if r.token != "" {
		request.Header.Set("Authorization", "Bearer "+r.token)
	}
	response, err := r.client.Do(request)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		}
		return fmt.Errorf("monitor: %s does not answer: %w; it is over, or was killed", r.where, err)
	}
	defer func() { _ = response.Body.Close() }() // it was read, or is not wanted
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("monitor: %s broke off its answer: %w", r.where, err)
	}
	if response.StatusCode != http.StatusOK {
		var a answer
		if err := json.Unmarshal(text, &a); err != nil || a.Error == "" {
			return fmt.Errorf("monitor: %s answered %s: is it a run of metasim?", r.where, response.Status)
		}
		return errors.New(a.Error)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("monitor: %s answered what is no answer of a run: %w", r.where, err)
	}
	return nil
}
