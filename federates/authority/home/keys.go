package home

import (
	"encoding/json"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"metasim/federates/authority/seal"
	"metasim/metasim"
)

// A key is a public key of an account. Times are Unix times in seconds; 0: no bound.
type key struct {
	ID         string          `json:"kid"` // its thumbprint (RFC 7638)
	Account    string          `json:"account"`
	JWK        json.RawMessage `json:"jwk"`
	ValidFrom  int64           `json:"valid_from"`
	ValidUntil int64           `json:"valid_until"`
}

const second = metasim.Time(1_000_000_000)

// maxSeconds is the latest Unix time that fits into nanoseconds.
const maxSeconds = int64(metasim.Forever / second)

func listKeys(c *call) (Response, *problem) {
	return c.list(keysPath, func(id string) (any, *problem) {
		var k key
		_, p := c.load(keysPath+"/"+id, &k)
		return k, p
	})
}

func publishKey(c *call) (Response, *problem) {
	var in struct {
		JWK        jsontext.Value `json:"jwk"`
		Issued     int64          `json:"issued"`
		ValidUntil int64          `json:"valid_until"`
	}
	if p := c.read(&in); p != nil {
		return Response{}, p
	}
	now := int64(c.now / second)
	skew := int64(c.cfg.Skew / second)
	switch {
	case in.Issued < 0 || in.ValidUntil < 0 || in.Issued > maxSeconds || in.ValidUntil > maxSeconds:
		return Response{}, refuse("invalid-value", "issued and valid_until are Unix times in seconds, 0 to %d", maxSeconds)
	case in.Issued != 0 && (in.Issued > now+skew || in.Issued < now-skew):
		return Response{}, refuse("clock-skew", "the key was issued at %d by the clock of %s, and here it is %d; set the clocks, %d s are allowed", in.Issued, c.account.Name, now, skew)
	case in.ValidUntil != 0 && in.ValidUntil <= now:
		return Response{}, refuse("expired-key", "the key was valid until %d, and it is %d; publish a new one", in.ValidUntil, now)
	}
	public, text, p := publicKey(in.JWK)
	if p != nil {
		return Response{}, p
	}
	if _, found := c.tree.Get(keysPath + "/" + public.ID); found {
		return Response{}, refuse("exists", "key %s is published already; remove it first, or make a new one", public.ID)
	}
	k := key{public.ID, c.account.Name, text, in.Issued, in.ValidUntil}
	version, p := c.store(keysPath+"/"+public.ID, 0, k)
	if p != nil {
		return Response{}, p
	}
	r, p := ok(201, version, k)
	r.Location = "/v1/keys/" + public.ID
	return r, p
}

// named returns the key that the path names.
func (c *call) namedKey() (k key, version uint64, p *problem) {
	version, p = c.load(keysPath+"/"+c.names[0], &k)
	if p == nil && version == 0 {
		p = refuse("unknown-key", "there is no key %q", c.names[0])
	}
	return k, version, p
}

func showKey(c *call) (Response, *problem) {
	k, version, p := c.namedKey()
	if p != nil {
		return Response{}, p
	}
	return ok(200, version, k)
}

func removeKey(c *call) (Response, *problem) {
	k, version, p := c.namedKey()
	if p == nil && k.Account != c.account.Name && !c.account.Admin {
		p = refuse("forbidden", "the key is of %s; use the token of that account, or of an admin", k.Account)
	}
	if p == nil {
		p = c.fresh(version)
	}
	if p != nil {
		return Response{}, p
	}
	c.remove(keysPath+"/"+c.names[0], version)
	return Response{Status: 204}, nil
}

// removeKeys removes the keys of an account: what they sign is not in the name of that account any more, nor of a later one that is called alike.
func (c *call) removeKeys(account string) *problem {
	for after := ""; ; {
		ids := c.tree.List(keysPath, after, maxList)
		for _, id := range ids {
			var k key
			version, p := c.load(keysPath+"/"+id, &k)
			if p != nil {
				return p
			}
			if k.Account == account {
				c.remove(keysPath+"/"+id, version)
			}
		}
		if len(ids) < maxList {
			return nil
		}
		after = ids[len(ids)-1]
	}
}

// publicKey reads a public key, and returns it as it is kept, too.
func publicKey(jwk []byte) (public seal.PublicKey, text []byte, p *problem) {
	public, err := seal.ParsePublicKey(jwk)
	switch {
	case errors.Is(err, seal.PrivateKeyText):
		return public, nil, refuse("private-key", "%v", err)
	case err != nil:
		return public, nil, refuse("bad-key", "%v", err)
	}
	if text, err = public.MarshalJSON(); err != nil {
		return public, nil, refuse("internal", "a key cannot be written: %v", err)
	}
	return public, text, nil
}
