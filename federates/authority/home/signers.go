package home

import "encoding/json"

// A homeserver signs each grant when it delivers it. The old owner hands the entity over with that signature, and the new one holds it against the keys of the homeserver that
// keeps the entity, as its own homeserver knows them. Several homeservers of one tree have a key each, and each key that was ever used stays: what was granted before a
// homeserver died is handed over after that.

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
