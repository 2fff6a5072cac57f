// Package homeclient asks a homeserver over HTTP: what simulation servers, other homeservers and the command line have in common.
package homeclient

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// Config says which homeserver is asked, and by whom.
type Config struct {
	At        string // its URL, or a file that has the URL, which is read before each request
	Token     string // of the account that asks
	TokenFile string // instead: a file that has it, which is read before each request
	Instance  string // the one that is meant; empty: whichever it is
	CertFile  string // PEM, beside those that the system trusts: who has signed the certificate of the homeserver, or that certificate; empty: none
}

// A Client asks one homeserver. It is safe for concurrent use.
type Client struct {
	cfg  Config
	http http.Client
}

// A ConfigError says what of a Config makes no sense.
type ConfigError struct{ Field, Why string }

func (e *ConfigError) Error() string { return e.Field + " " + e.Why }

// New returns a client. Nothing is asked yet.
func New(cfg Config) (*Client, error) {
	transport := &http.Transport{MaxIdleConnsPerHost: 4, IdleConnTimeout: time.Minute, TLSHandshakeTimeout: dialTime, ForceAttemptHTTP2: true}
	if cfg.At == "" {
		return nil, &ConfigError{"the homeserver", "is not named; write its URL, or the file of its --ready-file"}
	}
	if cfg.CertFile != "" {
		text, err := os.ReadFile(cfg.CertFile)
		if err != nil {
			return nil, &ConfigError{"the certificate of the homeserver", "cannot be read: " + err.Error()}
		}
		pool, err := x509.SystemCertPool()
		if err != nil {
			pool = x509.NewCertPool() // a system may have none
		}
		if !pool.AppendCertsFromPEM(text) {
			return nil, &ConfigError{"the certificate of the homeserver", "is none: " + cfg.CertFile + " has no PEM block CERTIFICATE"}
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}
	}
	return &Client{cfg: cfg, http: http.Client{Transport: transport}}, nil
}

// asksForTLS is what net/http answers, with status 400, to a request without TLS at a port that has it.
const asksForTLS = "HTTP request to an HTTPS server"

const (
	dialTime = 5 * time.Second
	askTime  = 10 * time.Second // beside what a request waits for
	maxBody  = 8 << 20
)

// A Request is what is asked.
type Request struct {
	Method, Path string
	Query        string
	Trail        []string // who has passed it on
	Route        []string // who is still to pass it on
	Body         []byte
	Wait         time.Duration // for which the homeserver may hold it
}

// An Answer is what came.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// A ProblemError is why a homeserver refuses.
type ProblemError struct {
	Status int
	Name   string // the type of the problem, without its prefix
	Detail string
}

func (e *ProblemError) Error() string {
	return fmt.Sprintf("the homeserver refuses (%s): %s", e.Name, e.Detail)
}

// An UnreachableError: nobody has answered. Whether a change was made is not known.
type UnreachableError struct {
	At    string
	Cause error
}

func (e *UnreachableError) Error() string {
	text := fmt.Sprintf("the homeserver at %s cannot be asked: %v", e.At, e.Cause)
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(e.Cause, &certificate):
		text += "; its certificate is not trusted: name the PEM file of who has signed it, or of the certificate, with --home-cert or --homeserver-cert, and ask by a name that stands in it"
	case errors.Is(e.Cause, http.ErrSchemeMismatch):
		text += "; it speaks no TLS: write its URL with http://"
	}
	return text
}

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Cause }

// Send asks, and returns what is answered, also where it is a problem.
func (c *Client) Send(ctx context.Context, r Request) (Answer, error) {
	base := c.cfg.At
	if !strings.Contains(base, "://") {
		text, err := os.ReadFile(base)
		if err != nil {
			return Answer{}, &UnreachableError{base, err}
		}
		base = strings.TrimSpace(string(text))
	}
	token := c.cfg.Token
	if c.cfg.TokenFile != "" {
		text, err := os.ReadFile(c.cfg.TokenFile)
		if err != nil {
			return Answer{}, &UnreachableError{base, err}
		}
		token = strings.TrimSpace(string(text))
	}
	ctx, cancel := context.WithTimeout(ctx, askTime+r.Wait)
	defer cancel()
	url := base + r.Path
	if r.Query != "" {
		url += "?" + r.Query
	}
	ask, err := http.NewRequestWithContext(ctx, r.Method, url, bytes.NewReader(r.Body))
	if err != nil {
		return Answer{}, &UnreachableError{base, err}
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + token, "Metasim-Instance": c.cfg.Instance, "Metasim-Trail": strings.Join(r.Trail, ","), "Metasim-Route": strings.Join(r.Route, ","),
	} {
		if value != "" {
			ask.Header.Set(name, value)
		}
	}
	if len(r.Body) > 0 {
		ask.Header.Set("Content-Type", "application/json")
	}
	got, err := c.http.Do(ask)
	if err != nil {
		return Answer{}, &UnreachableError{base, err}
	}
	body, err := io.ReadAll(io.LimitReader(got.Body, maxBody))
	if err = errors.Join(err, got.Body.Close()); err != nil {
		return Answer{}, &UnreachableError{base, err}
	}
	return Answer{got.StatusCode, got.Header, body}, nil
}

// Do asks with a value as the body, unless it is nil, and reads the answer into another, unless that is nil. A problem is a *ProblemError.
func (c *Client) Do(ctx context.Context, r Request, in, out any) (status int, err error) {
	if in != nil {
		if r.Body, err = json.Marshal(in); err != nil {
			return 0, err
		}
	}
	got, err := c.Send(ctx, r)
	if err != nil {
		return 0, err
	}
	if got.Status >= 300 {
		var p struct{ Type, Detail string }
		if err := json.Unmarshal(got.Body, &p); err != nil {
			p.Type, p.Detail = "no homeserver", fmt.Sprintf("status %d without a problem of a homeserver", got.Status)
			if got.Status == http.StatusBadRequest && bytes.Contains(got.Body, []byte(asksForTLS)) {
				p.Detail = "it speaks TLS: write its URL with https://, and name its certificate with --home-cert or --homeserver-cert"
			}
		}
		return got.Status, &ProblemError{got.Status, strings.TrimPrefix(p.Type, "urn:metasim:problem:"), p.Detail}
	}
	if out != nil {
		err = json.Unmarshal(got.Body, out)
	}
	return got.Status, err
}
