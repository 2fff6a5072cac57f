package home

import "encoding/json"

// A homeserver signs each grant when it delivers it. The old owner hands the entity over with that signature, and the new one holds it against the keys of the homeserver that
// keeps the entity, as its own homeserver knows them. Several homeservers of one tree have a key each, and each key that was ever used stays until an admin removes it: what was
// granted before a homeserver died is handed over after that.

// showSigners answers with the public keys that verify the grants of an entity, and with its owner.
func showSigners(c *call) (Response, *problem) {
	e, _, p := c.entity()
	if p != nil {
		return c.far(p)
	}
	all := signers{e.Owner, e.Epoch, []json.RawMessage{}}
	for _, id := range c.tree.List(signersPath, "", maxList) {
		var is signer
		if _, p := c.load(signersPath+"/"+id, &is); p != nil {
			return Response{}, p
		}
		all.Keys = append(all.Keys, is.JWK)
	}
	return ok(200, 0, all) // the keys have no version of the entity
}

// A shownSigner is a signer with the thumbprint of its key.
type shownSigner struct {
	ID string `json:"kid"`
	signer
}

func listSigners(c *call) (Response, *problem) {
	return c.list(signersPath, func(id string) (any, *problem) {
		s := shownSigner{ID: id}
		_, p := c.load(signersPath+"/"+id, &s.signer)
		return s, p
	})
}

// namedSigner returns the signer that the path names.
func (c *call) namedSigner() (s shownSigner, version uint64, p *problem) {
	s.ID = c.names[0]
	version, p = c.load(signersPath+"/"+s.ID, &s.signer)
	if p == nil && version == 0 {
		p = refuse("unknown-key", "no homeserver of this tree has signed with a key %q", s.ID)
	}
	return s, version, p
}

func showSigner(c *call) (Response, *problem) {
	s, version, p := c.namedSigner()
	if p != nil {
		return Response{}, p
	}
	return ok(200, version, s)
}

// removeSigner has nothing count any more that a homeserver has granted.
func removeSigner(c *call) (Response, *problem) {
	s, version, p := c.namedSigner()
	if p == nil && s.ID == c.cfg.key.ID {
		p = refuse("own-key", "%s signs with key %s now; end it, remove grants.jwk from its directory, start it again, and remove the key then", c.cfg.Name, s.ID)
	}
	if p == nil {
		p = c.fresh(version)
	}
	if p != nil {
		return Response{}, p
	}
	c.remove(signersPath+"/"+s.ID, version)
	return Response{Status: 204}, nil
}
