package home

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxURL is the longest address of a server, in bytes.
const maxURL = 512

// register has the account that asks be found as a simulation server.
func register(c *call) (Response, *problem) {
	var in struct {
		URL string         `json:"url"`
		JWK jsontext.Value `json:"jwk"`
	}
	p := c.read(&in)
	if p == nil && c.names[0] != c.account.Name {
		p = refuse("forbidden", "%s registers %s; a server registers itself, with the token of its account", c.account.Name, c.names[0])
	}
	if p == nil && (len(in.URL) > maxURL || !strings.Contains(in.URL, "://") || strings.ContainsFunc(in.URL, func(r rune) bool { return r <= ' ' || r > '~' })) {
		p = refuse("invalid-value", "url is %q; use an address of at most %d letters, as in quic://10.0.0.1:7000/PIN", clip(in.URL), maxURL)
	}
	if p != nil {
		return Response{}, p
	}
	public, text, p := publicKey(in.JWK)
	if p != nil {
		return Response{}, p
	}
	var old simserver
	version, p := c.load(serversPath+"/"+c.names[0], &old)
	if p == nil {
		p = c.fresh(version)
	}
	s := simserver{c.names[0], in.URL, public.ID, text, int64(c.now), old.Count + 1}
	if p == nil {
		version, p = c.store(serversPath+"/"+s.Name, version, s)
	}
	if p != nil {
		return Response{}, p
	}
	return ok(200, version, s)
}

func showServer(c *call) (Response, *problem) {
	var s simserver
	version, p := c.load(serversPath+"/"+c.names[0], &s)
	if p == nil && version == 0 {
		if r, far := c.elsewhere(); far {
			return r, nil
		}
		p = refuse("unknown-server", "no simulation server %q has registered here", c.names[0])
	}
	if p != nil {
		return Response{}, p
	}
	return ok(200, version, s)
}

func listServers(c *call) (Response, *problem) {
	return c.list(serversPath, func(name string) (any, *problem) {
		var s simserver
		_, p := c.load(serversPath+"/"+name, &s)
		return s, p
	})
}

// A Forward says which homeserver is to answer a request that reads.
type Forward struct {
	To    string
	Trail []string // who has passed it on, this homeserver last
	Route []string // who passes it on after To
}

// elsewhere has a homeserver on the path answer what this one does not know, if it is asked first.
func (c *call) elsewhere() (Response, bool) {
	if len(c.cfg.Path) == 0 || c.passes() {
		return Response{}, false
	}
	return Response{Forward: &Forward{c.cfg.Path[0], []string{c.account.Name, c.cfg.Name}, c.cfg.Path[1:]}}, true
}

// passes reports whether the account that asks is a homeserver that passes a request on.
func (c *call) passes() bool { return c.knows(c.account.Name) }

// onTheWay has the next homeserver answer a request that is on its way.
func (c *call) onTheWay() (Response, *problem) {
	switch {
	case !c.passes() || len(c.Trail) < 2:
		return Response{}, refuse("forged-trail", "%s has a request passed on to %q, with the trail %q; only homeservers that this one knows do", c.account.Name, c.Route, c.Trail)
	case c.Method != "GET":
		return Response{}, refuse("forbidden", "%s is passed on only in messages; POST it to /v1/messages", clip(c.Method))
	case !c.knows(c.Route[0]):
		return Response{}, refuse("unknown-server", "%q is no homeserver that this one knows", clip(c.Route[0]))
	}
	return Response{Forward: &Forward{c.Route[0], append(append([]string{}, c.Trail...), c.cfg.Name), c.Route[1:]}}, nil
}
