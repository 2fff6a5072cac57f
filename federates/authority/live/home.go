package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"metasim/federates/authority/homeclient"
	"metasim/federates/authority/seal"
	"metasim/federates/authority/transfer"
)

func (h *Home) validate(c *Config) error {
	switch {
	case h.Name == "" || h.Name == c.Name:
		return &ConfigError{"the homeserver", "has no name, or that of the server; write NAME=URL, with the --name of metasim authority serve"}
	case h.Token == "":
		return &ConfigError{"the token for the homeserver", "is empty; name the file with that of the account " + c.Name}
	case h.Instance == "":
		return &ConfigError{"the instance", "is empty; write that of the homeserver"}
	}
	return nil
}

func newHomeLink(cfg *Config, url string, own []string) (*homeLink, error) {
	if cfg.Home == nil {
		return nil, nil
	}
	client, err := homeclient.New(homeclient.Config{At: cfg.Home.At, Token: cfg.Home.Token, Instance: cfg.Home.Instance, CertFile: cfg.Home.CertFile})
	if err != nil {
		return nil, err
	}
	key, err := seal.NewPrivateKey("")
	if err != nil {
		return nil, err
	}
	return &homeLink{
		cfg: cfg.Home, self: cfg.Name, url: url, own: own, key: key, client: client, fetched: make(chan batch), entered: make(chan entered), trouble: make(chan string, 16),
		says: make(chan transfer.Message, mailWaits), ends: make(chan error, 1), known: map[string]entry{}, openings: map[string]*opening{}, trusted: map[string]trusted{},
	}, nil
}

func (h *homeLink) batches() <-chan batch {
	if h == nil {
		return nil
	}
	return h.fetched
}

// entries are the entities that the server may own from now on.
func (h *homeLink) entries() <-chan entered {
	if h == nil {
		return nil
	}
	return h.entered
}

func (h *homeLink) troubles() <-chan string {
	if h == nil {
		return nil
	}
	return h.trouble
}

// complain tells of trouble, once while it lasts.
func (h *homeLink) complain(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if text := err.Error(); text != h.last {
		h.last = text
		select {
		case h.trouble <- text:
		default: // there is more trouble than anybody reads
		}
	}
}

func (h *homeLink) fine() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = ""
}

// say has a message sent to the homeserver. What it does not take the machine says again.
func (h *homeLink) say(m transfer.Message) {
	select {
	case h.says <- m:
	default:
	}
}

// again is how long a server waits before it tries again.
const again = 200 * time.Millisecond

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// run registers the server, and carries messages both ways, until ctx ends.
func (h *homeLink) run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := h.register(ctx); err != nil {
			h.complain(err)
			sleep(ctx, again)
			continue
		}
		break
	}
	later := h.enterAll(ctx, h.own, false)
	h.fine()
	go h.sendAll(ctx)
	after := uint64(0)
	for ctx.Err() == nil {
		wait := maxWait
		if later = h.enterAll(ctx, later, true); len(later) > 0 {
			wait = enterEvery
		}
		var page struct {
			Items []waiting `json:"items"`
		}
		query := strings.TrimSuffix(fmt.Sprintf("wait=%d&after=%d&%s", int(wait/time.Second), after, h.registered), "&")
		if _, err := h.client.Do(ctx, homeclient.Request{Method: "GET", Path: "/v1/mail", Query: query, Wait: maxWait}, nil, &page); err != nil {
			if ctx.Err() == nil && !h.superseded(err) {
				h.complain(err)
			}
			sleep(ctx, again)
			continue
		}
		h.fine()
		if len(page.Items) == 0 {
			continue
		}
		b := batch{page.Items, make(chan struct{})}
		select {
		case h.fetched <- b:
			select {
			case <-b.done:
			case <-ctx.Done():
				return
			}
		case <-ctx.Done():
			return
		}
		after = page.Items[len(page.Items)-1].Number
		if _, err := h.client.Do(ctx, homeclient.Request{Method: "DELETE", Path: fmt.Sprintf("/v1/mail/%d", after), Query: h.registered}, nil, nil); err != nil && ctx.Err() == nil && !h.superseded(err) {
			h.complain(err) // it is removed with the next
		}
	}
}

// superseded has the server end where another process has registered as this server: of two that compute the same entities one is too many.
func (h *homeLink) superseded(err error) bool {
	if !refused(err, "superseded") {
		return false
	}
	select {
	case h.ends <- err:
	default: // it ends already
	}
	return true
}

// endings says why the server cannot go on.
func (h *homeLink) endings() <-chan error {
	if h == nil {
		return nil
	}
	return h.ends
}

// maxWait is how long the homeserver holds a request for mail.
const maxWait = 20 * time.Second

// enterEvery is how long a server reads its mail until it tries again to enter what others have not let go of.
const enterEvery = time.Second

// register says to the homeserver where this server is found.
func (h *homeLink) register(ctx context.Context) error {
	jwk, err := h.key.PublicKey.MarshalJSON()
	if err != nil {
		return err
	}
	in := map[string]any{"url": h.url, "jwk": json.RawMessage(jwk)}
	var is struct{ Registration uint64 }
	if _, err := h.client.Do(ctx, homeclient.Request{Method: "PUT", Path: "/v1/servers/" + h.self}, in, &is); err != nil {
		return err
	}
	if is.Registration > 0 { // else the homeserver is an older one, which does not know of it
		h.registered = fmt.Sprintf("registered=%d", is.Registration)
	}
	return nil
}

// enterAll enters what the server brings, and returns what has to wait: another server has not let go of it yet, which is told of once. This server reads its mail meanwhile, as others may
// wait for it in the same way. For anything else it waits here: what comes by mail is of what was entered.
func (h *homeLink) enterAll(ctx context.Context, own []string, told bool) (later []string) {
	for _, entity := range own {
		for ctx.Err() == nil {
			err := h.enter(ctx, entity)
			if err == nil {
				break
			}
			waits := refused(err, "not-let-go")
			if !waits || !told {
				h.complain(err)
			}
			if waits {
				later = append(later, entity)
				break
			}
			sleep(ctx, again)
		}
	}
	return later
}

// refused reports whether the homeserver has refused something for a reason.
func refused(err error, reason string) bool {
	var p *homeclient.ProblemError
	return errors.As(err, &p) && p.Name == reason
}

// enter adds an entity that the server brings. If it is there already, the server has it only if it has always been its own: else it was given away, and another
// server may have it.
func (h *homeLink) enter(ctx context.Context, entity string) error {
	in := map[string]any{"id": entity}
	if h.cfg.Rule != "" {
		in["rule"] = h.cfg.Rule
	}
	if h.cfg.Master != "" {
		in["master"] = h.cfg.Master
	}
	var is struct {
		transfer.Record
		Born transfer.Sequence `json:"born"`
	}
	_, err := h.client.Do(ctx, homeclient.Request{Method: "POST", Path: "/v1/entities"}, in, &is)
	if refused(err, "exists") {
		if _, err = h.client.Do(ctx, homeclient.Request{Method: "GET", Path: "/v1/entities/" + entity}, nil, &is); err == nil && (is.Owner != h.self || is.Epoch != is.Born) {
			return nil
		}
	}
	if err != nil {
		return err
	}
	select {
	case h.entered <- entered{entity, is.Epoch}:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// sendAll sends what the server says to its homeserver.
func (h *homeLink) sendAll(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case m := <-h.says:
			if _, err := h.client.Do(ctx, homeclient.Request{Method: "POST", Path: "/v1/messages"}, &m, nil); err != nil && ctx.Err() == nil {
				h.complain(err)
			}
		}
	}
}

// find returns where another server is, and its key. fresh: the homeserver is asked, unless it has just said so.
func (h *homeLink) find(ctx context.Context, name string, fresh bool) (entry, error) {
	h.mu.Lock()
	e, known := h.known[name]
	h.mu.Unlock()
	if known && (!fresh || time.Since(e.at) < freshFor) {
		return e, nil
	}
	var got struct {
		URL string          `json:"url"`
		JWK json.RawMessage `json:"jwk"`
	}
	if _, err := h.client.Do(ctx, homeclient.Request{Method: "GET", Path: "/v1/servers/" + url.PathEscape(name)}, nil, &got); err != nil {
		return entry{}, fmt.Errorf("where %s is: %w", name, err)
	}
	key, err := seal.ParsePublicKey(got.JWK)
	if err != nil {
		return entry{}, fmt.Errorf("the key of %s: %w", name, err)
	}
	key.Owner = name
	e = entry{got.URL, key, time.Now()}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.known[name] = e
	return e, nil
}

// ruling is the message by which a master sets a rule.
func (h *homeLink) ruling(self, entity string, rule transfer.Rule) ([]transfer.Envelope, error) {
	if h == nil {
		return nil, errors.New("there is no homeserver that keeps a rule; start the server with --home")
	}
	m := transfer.Message{Kind: transfer.SetRule, Requester: self, Entity: entity, Rule: rule, Trail: []string{self}}
	return []transfer.Envelope{{To: h.cfg.Name, Message: m}}, nil
}
