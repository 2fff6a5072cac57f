package home

import (
	"cmp"
	"errors"
	"fmt"
	"mime"
	"slices"
	"strings"

	"metasim/federates/authority/seal"
	"metasim/federates/authority/transfer"
	"metasim/metasim"
)

// A Server answers requests. It holds nothing but its configuration.
type Server struct {
	cfg    Config
	routes []route
}

// A ConfigError says which field of a Config is wrong.
type ConfigError struct{ Field, Why string }

func (e *ConfigError) Error() string { return e.Field + " " + e.Why }

// Validate says which field is wrong.
func (c *Config) Validate() error {
	switch p := checkName("instance", c.Instance); {
	case p != nil:
		return &ConfigError{"Instance", strings.TrimPrefix(p.detail, "instance ")}
	case named(c) != nil:
		return &ConfigError{"Name, Homeservers or Path:", named(c).detail}
	case len(c.Path) > 0 && !slices.Contains(c.Homeservers, c.Path[0]):
		return &ConfigError{"Path", fmt.Sprintf("begins with %s, which is none of Homeservers; name it there too", c.Path[0])}
	case len(c.Path) > maxTrail/2:
		return &ConfigError{"Path", fmt.Sprintf("has %d homeservers; at most %d pass a request on", len(c.Path), maxTrail/2)}
	case slices.Contains(append(slices.Clone(c.Path), c.Homeservers...), c.Name):
		return &ConfigError{"Path and Homeservers", "have this homeserver itself; name others, or give this one another name"}
	case c.Patience < 0:
		return &ConfigError{"Patience", "is negative; use a duration such as 30s"}
	case c.Skew < 0:
		return &ConfigError{"Skew", "is negative; use a duration such as 5m"}
	}
	return nil
}

// named says which homeserver has a name that no account can have: each has one at its neighbours, and trails have commas between names.
func named(c *Config) *problem {
	for _, name := range slices.Concat([]string{cmp.Or(c.Name, stdName)}, c.Homeservers, c.Path) {
		if p := checkName("a name", name); p != nil {
			return p
		}
	}
	return nil
}

// stdName is that of a homeserver that is given none.
const stdName = "home"

// New returns a server.
func New(cfg Config) (*Server, error) {
	if cfg.Name == "" {
		cfg.Name = stdName
	}
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	var err error
	if cfg.key, err = seal.ParsePrivateKey(cfg.Key); err != nil {
		return nil, &ConfigError{"Key", fmt.Sprintf("is none: %v; remove grants.jwk from the directory, and another key is made", err)}
	}
	if cfg.Patience == 0 {
		cfg.Patience = 30 * second
	}
	if cfg.Skew == 0 {
		cfg.Skew = 300 * second
	}
	return &Server{cfg, routes()}, nil
}

// NewKey makes a key for Config.Key.
func NewKey() ([]byte, error) {
	key, err := seal.NewPrivateKey("sig")
	if err != nil {
		return nil, err
	}
	return key.MarshalJSON()
}

// Publish returns the commands by which others find the key of this homeserver.
func (s *Server) Publish(t Tree) ([]Command, error) {
	c := &call{cfg: &s.cfg, tree: t}
	path := signersPath + "/" + s.cfg.key.ID
	if _, found := t.Get(path); found {
		return nil, nil
	}
	text, err := s.cfg.key.PublicKey.MarshalJSON()
	if err != nil {
		return nil, err
	}
	if _, p := c.store(path, 0, signer{s.cfg.Name, text}); p != nil {
		return nil, &TreeError{p.detail}
	}
	return c.commands, nil
}

// Handle answers a request. Where it is refused there are no commands.
func (s *Server) Handle(t Tree, now metasim.Time, r Request) (Response, []Command, Audit) {
	c := &call{Request: &r, cfg: &s.cfg, tree: t, now: now}
	out, p := s.answer(c)
	if p != nil {
		out, c.commands = p.response(clip(r.Path)), nil
	}
	return out, c.commands, c.audit(out.Status, p)
}

// Whose returns whose token a request shows; empty if it shows none that is known.
func (s *Server) Whose(t Tree, r Request) string {
	c := &call{Request: &r, cfg: &s.cfg, tree: t}
	if p := c.authenticate(); p != nil {
		return ""
	}
	return c.account.Name
}

// Refuse is how a request is refused that does not reach Handle, by the name of a problem.
func (s *Server) Refuse(now metasim.Time, r Request, by, name, detail string, retryAfter int) (Response, Audit) {
	c := &call{Request: &r, cfg: &s.cfg, now: now, account: account{Name: by}}
	p := refuse(name, "%s", detail)
	out := p.response(clip(r.Path))
	out.RetryAfter = retryAfter
	return out, c.audit(out.Status, p)
}

func (c *call) audit(status int, p *problem) Audit {
	a := Audit{TimeNS: int64(c.now), Account: c.account.Name, Address: c.Address, Method: clip(c.Method), Path: clip(c.Path), Trail: c.Trail, Status: status, Outcome: "ok"}
	if p != nil {
		a.Outcome, a.Detail = p.name, p.detail
	}
	for _, command := range c.commands {
		if !strings.HasPrefix(command.Path, tokensPath) { // whose token it is stands beside it
			a.Changed = append(a.Changed, command.Path)
		}
	}
	if m := c.message; m != nil {
		a.Trail = m.Trail
		a.Message = &Heard{Kind: m.Kind, Requester: clip(m.Requester), ID: m.ID, Entity: clip(m.Entity), Owner: clip(m.Owner), Hops: len(m.Trail), Route: m.Route, LatencyNS: transfer.Latencies(c.sent, int64(c.now))}
	}
	return a
}

// answer checks what all requests have in common, and has the route do the rest.
func (s *Server) answer(c *call) (Response, *problem) {
	p := s.find(c)
	if p != nil || !c.route.public {
		unknown := c.authenticate()
		p = cmp.Or(p, unknown) // the audit says who has asked for what is not there, too
	}
	if p == nil {
		p = c.checkSender()
	}
	if p == nil {
		p = c.checkForm()
	}
	if p == nil && c.route.admin && !c.account.Admin {
		p = refuse("forbidden", "%s is no admin; have one do it", c.account.Name)
	}
	if p != nil {
		return Response{}, p
	}
	if len(c.Route) > 0 {
		return c.onTheWay()
	}
	r, p := c.route.handle(c)
	if p == nil && c.Method == "GET" && c.IfNoneMatch != "" && r.ETag != "" && matches(c.IfNoneMatch, versionOf(r.ETag)) {
		r = Response{Status: 304, ETag: r.ETag}
	}
	return r, p
}

// find looks for the route of a request.
func (s *Server) find(c *call) *problem {
	var allowed []string
	for i := range s.routes {
		r := &s.routes[i]
		names, fits := r.fits(c.Path)
		switch {
		case !fits:
		case r.method == c.Method || r.method == "GET" && c.Method == "HEAD":
			c.route, c.names = r, names
			return nil
		default:
			allowed = append(allowed, r.method)
		}
	}
	if allowed == nil {
		return refuse("not-found", "there is nothing at %s; see /openapi.json", clip(c.Path))
	}
	slices.Sort(allowed)
	p := refuse("method-not-allowed", "%s does not have %s; use %s", clip(c.Path), clip(c.Method), strings.Join(allowed, ", "))
	p.allow = strings.Join(allowed, ", ")
	return p
}

// fits reports whether a path is that of a route, and what stands where the route leaves it open.
func (r *route) fits(path string) (names []string, fits bool) {
	want, got := strings.Split(r.path, "/"), strings.Split(path, "/")
	if len(want) != len(got) {
		return nil, false
	}
	for i, part := range want {
		switch {
		case strings.HasPrefix(part, "{"):
			names = append(names, got[i])
			fits = got[i] != ""
		default:
			fits = part == got[i]
		}
		if !fits {
			return nil, false
		}
	}
	return names, true
}

// checkSender refuses requests for another instance, and those that claim hops which nobody has travelled.
func (c *call) checkSender() *problem {
	if c.Instance != "" && c.Instance != c.cfg.Instance {
		return refuse("other-instance", "the request is for instance %q, and this is %q; use a homeserver of that one", c.Instance, c.cfg.Instance)
	}
	if len(c.Trail) == 0 {
		return nil
	}
	if len(c.Trail) > maxTrail {
		return refuse("forged-trail", "the trail has %d names; at most %d pass a request on", len(c.Trail), maxTrail)
	}
	var forged *transfer.ForgedError
	if err := transfer.CheckTrail(c.account.Name, c.Trail); errors.As(err, &forged) {
		return refuse("forged-trail", "%v", err)
	}
	if len(c.Trail) > 1 && !c.passes() {
		return refuse("forged-trail", "%s sends a request whose trail is %q; only homeservers that this one knows pass requests on", c.account.Name, c.Trail)
	}
	return nil
}

// checkForm refuses bodies and queries that the route does not take.
func (c *call) checkForm() *problem {
	for _, q := range c.Query {
		takes := c.route.list && (q[0] == "limit" || q[0] == "after") || c.route.waits && q[0] == "wait" || c.route.registered && q[0] == "registered"
		if !takes {
			return refuse("unknown-parameter", "%q is no parameter of %s %s; see /openapi.json", clip(q[0]), c.Method, c.route.path)
		}
	}
	for _, name := range c.names {
		if name == "." || name == ".." || strings.ContainsAny(name, "/\x00") || len(name) > maxName {
			return refuse("invalid-value", "%q is no name; use 1 to %d letters, digits, '-', '_' and '.'", clip(name), maxName)
		}
	}
	switch {
	case c.TooLong:
		return refuse("body-too-large", "the body has more than %d bytes", MaxBody)
	case c.route.body == "" && len(c.Body) > 0:
		return refuse("invalid-value", "%s %s takes no body, and %d bytes came; leave them out", c.Method, c.route.path, len(c.Body))
	case c.route.body == "":
		return nil
	}
	if kind, _, err := mime.ParseMediaType(c.ContentType); err != nil || kind != jsonType {
		return refuse("wrong-content-type", "Content-Type is %q; use %s", c.ContentType, jsonType)
	}
	return nil
}

// Outgoing returns the messages that wait for another homeserver, the first at most, and what removes them from its mail.
func (s *Server) Outgoing(t Tree, to string) (messages []transfer.Message, done []Command, err error) {
	c := &call{Request: &Request{}, cfg: &s.cfg, tree: t}
	letters, p := c.letters(to, 0, stdList)
	if p != nil {
		return nil, nil, &TreeError{p.detail}
	}
	for _, l := range letters {
		messages = append(messages, l.Message)
		if node, found := t.Get(letterPath(to, l.Number)); found {
			done = append(done, Command{letterPath(to, l.Number), nil, node.Version})
		}
	}
	return messages, done, nil
}

// MailFor returns for whom commands have put mail, in order.
func MailFor(commands []Command) (names []string) {
	for _, c := range commands {
		rest, mail := strings.CutPrefix(c.Path, mailPath+"/")
		if name, _, isLetter := strings.Cut(rest, "/"); mail && isLetter && c.Payload != nil {
			names = append(names, name)
		}
	}
	return names
}
