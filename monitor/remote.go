package monitor

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"metasim/internal/atomicfile"
	"metasim/record/journal"
	"metasim/wire/transport/secure"
)

// AddressFile is a file in the directory of a run while it goes on. It has an Address as JSON.
const AddressFile = "live.json"

// An Address is where a run can be asked.
type Address struct {
	PID    int    `json:"pid"`            // of the server
	Socket string `json:"socket"`         // the path of a unix socket, for this user alone
	HTTP   string `json:"http,omitempty"` // without the token
}

// Write writes an AddressFile.
func (a Address) Write(file string) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(file, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("writing where the run can be asked: %w", err)
	}
	return nil
}

// A Remote is a run that goes on in another process.
type Remote struct {
	where  string // in words
	socket string // its path; empty over HTTP
	base   string
	token  string
	client *http.Client
}

// Open returns the run that goes on in a directory.
func Open(dir string) (*Remote, error) {
	text, err := os.ReadFile(filepath.Join(dir, AddressFile))
	if info, e := os.Stat(dir); e == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is no run but a file; name a directory that metasim run has made", dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, notLive(dir)
	}
	var a Address
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err != nil {
		return nil, fmt.Errorf("where the run in %s can be asked cannot be read: %w", dir, err)
	}
	return dialSocket(a.Socket, dir), nil
}

// notLive says why a run cannot be asked.
func notLive(dir string) error {
	d, err := journal.Open(dir)
	if err != nil {
		return err
	}
	m, err := d.Manifest()
	if err != nil {
		return err
	}
	end := "it is done"
	if !m.OK {
		end = m.Error
	}
	return fmt.Errorf("the run in %s does not go on: %s; see metasim log %s", dir, end, dir)
}

// Find returns the only run that goes on in the directories below root.
func Find(root string) (*Remote, error) {
	files, err := filepath.Glob(filepath.Join(root, "*", AddressFile))
	if err != nil {
		return nil, err
	}
	var found []*Remote
	var dirs []string
	for _, f := range files {
		if r, err := Open(filepath.Dir(f)); err == nil && r.answers() { // else the run was killed
			found, dirs = append(found, r), append(dirs, filepath.Dir(f))
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("no run goes on in %s; name one, by --run DIR or --http ADDR", root)
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("%d runs go on: %s; say which, by --run DIR", len(dirs), strings.Join(dirs, ", "))
}

// dialSocket returns a run that is asked over a unix socket.
func dialSocket(path, dir string) *Remote {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}
	return &Remote{
		where: fmt.Sprintf("the run in %s", dir), socket: path, base: "http://run",
		client: &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}},
	}
}

// Dial returns a run that is asked over HTTP, at an address as metasim prints it: http://host:port/#token=...; or at host:port, or at :port
// of this host. token is for an address without one; without any token the run can be asked, but not commanded.
func Dial(address, token string) (*Remote, error) {
	full := address
	if !strings.Contains(full, "://") {
		full = "http://" + full
	}
	u, err := url.Parse(full)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Port() == "" {
		return nil, fmt.Errorf("%q is no address of a run; use http://host:port/#token=... or https://host:port/?sha256=..., as metasim prints it", address)
	}
	trust, err := trustOf(u)
	if err != nil {
		return nil, err
	}
	host := u.Host
	if u.Hostname() == "" {
		host = net.JoinHostPort(thisHost, u.Port())
	}
	fragment, err := url.ParseQuery(u.Fragment)
	if err != nil {
		return nil, fmt.Errorf("what follows # in %q is no token: %w", address, err)
	}
	return &Remote{
		where: host, base: u.Scheme + "://" + host, token: cmp.Or(fragment.Get("token"), token),
		client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true, Proxy: nil, TLSClientConfig: trust}},
	}, nil
}

// trustOf returns which certificate of a page is trusted: the one that its address pins, else what this system trusts.
func trustOf(u *url.URL) (*tls.Config, error) {
	if u.Scheme != "https" || u.Query().Get("sha256") == "" {
		return nil, nil
	}
	_, pin, err := secure.ParseServer("https", (&url.URL{Scheme: u.Scheme, Host: u.Host, RawQuery: u.RawQuery}).String())
	if err != nil {
		return nil, err
	}
	return secure.PageTLS(pin), nil
}

// GoesOn reports whether the run in a directory goes on.
func GoesOn(dir string) bool {
	r, err := Open(dir)
	return err == nil && r.answers()
}

// answers reports whether a process listens at the socket.
func (r *Remote) answers() bool {
	c, err := net.Dial("unix", r.socket)
	return err == nil && c.Close() == nil
}

// Why asks why a client does not go on, or for an empty name why the run does not. The answer has a sentence for each hop.
func (r *Remote) Why(ctx context.Context, client string) ([]string, error) {
	var a answer
	err := r.ask(ctx, http.MethodGet, "/why?client="+url.QueryEscape(client), &a)
	return a.Chain, err
}

// Control carries out a command: see Monitor.Control.
func (r *Remote) Control(ctx context.Context, command, at string) (string, error) {
	path := "/ctl/" + url.PathEscape(command)
	if at != "" {
		path += "?t=" + url.QueryEscape(at)
	}
	var a answer
	err := r.ask(ctx, http.MethodPost, path, &a)
	return a.Done, err
}

// maxAnswer bounds an answer: 1 GiB, because a run may have a million clients.
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
		return fmt.Errorf("%s does not answer: %w; it is over, or was killed", r.where, err)
	}
	defer func() { _ = response.Body.Close() }() // it was read, or is not needed
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("the answer of %s breaks off: %w", r.where, err)
	}
	if response.StatusCode != http.StatusOK {
		var a answer
		if err := json.Unmarshal(text, &a); err != nil || a.Error == "" {
			return fmt.Errorf("%s answered %s: is it a run of metasim?", r.where, response.Status)
		}
		return errors.New(a.Error)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s sent what is not an answer of a run: %w", r.where, err)
	}
	return nil
}
