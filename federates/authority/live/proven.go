package live

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"metasim/federates/authority/homeclient"
	"metasim/federates/authority/seal"
	"metasim/federates/authority/transfer"
)

// Where there is a homeserver, a handover is taken only with the grant that the homeserver has signed: this entity, with this epoch, from its sender to this server. So who has
// an account, and even who owned the entity once, hands over nothing that is not granted. The keys are those of the homeserver that keeps the entity, as the own one says; they
// are asked for when an entity is handed over for the first time, when a grant is signed by another, and again after trustFor.

// An UnprovenError: a server hands over what nobody has granted it.
type UnprovenError struct {
	From, Entity string
	Epoch        transfer.Sequence
	Cause        error
}

func (e *UnprovenError) Error() string {
	return fmt.Sprintf("%s hands %s over with the epoch %d, and does not prove that its homeserver has granted that: %v", e.From, e.Entity, e.Epoch, e.Cause)
}

// Unwrap returns the cause.
func (e *UnprovenError) Unwrap() error { return e.Cause }

var (
	errNoGrant  = errors.New("it has no grant; only a homeserver gives one")
	errOutdated = errors.New("the grant is an old one: the homeserver has a later owner, and this server knows nothing of the entity")
)

// prove says why a message that is a handover is not proven, and else which epoch of the entity the homeserver had when it was asked. The opening is locked.
func (h *homeLink) prove(ctx context.Context, o *opening, from string, m *transfer.Message) (epoch transfer.Sequence, err error) {
	if m.Kind != transfer.Handover {
		return 0, nil
	}
	defer func() {
		if err != nil {
			if !errors.Is(err, errDoubted) { // who says it again and again is asked for in the end
				o.doubted = time.Now()
			}
			err = &UnprovenError{from, m.Entity, m.Epoch, err}
		}
	}()
	if m.Proof == "" {
		return 0, errNoGrant
	}
	grant := seal.Grant{Instance: h.cfg.Instance, Entity: m.Entity, Epoch: uint16(m.Epoch), From: from, To: m.Owner}
	var k trusted
	var unasked error
	err = grant.Proves(m.Proof, func(id string) (key seal.PublicKey, known bool) {
		for fresh := false; !known; fresh = true {
			if k, unasked = h.trust(ctx, m.Entity, fresh, o.doubted); unasked != nil {
				break
			}
			if key, known = k.keys[id]; fresh {
				break
			}
		}
		return key, known
	})
	if unasked != nil {
		err = unasked
	}
	return k.epoch, err
}

// errDoubted: the homeserver is not asked again so soon because of who has just handed over what it could not prove.
var errDoubted = errors.New("it has just failed to prove another handover; it may try again in " + freshFor.String())

// trust returns what the homeserver says of an entity. fresh: it is asked again, unless it has just said so. doubted is when who hands it over has been refused last.
func (h *homeLink) trust(ctx context.Context, entity string, fresh bool, doubted time.Time) (trusted, error) {
	h.mu.Lock()
	k, known := h.trusted[entity]
	h.mu.Unlock()
	switch {
	case known && (!fresh && time.Since(k.at) < trustFor || time.Since(k.at) < freshFor):
		return k, nil
	case time.Since(doubted) < freshFor:
		return trusted{}, errDoubted
	}
	var got struct {
		Epoch transfer.Sequence
		Keys  []json.RawMessage
	}
	switch status, err := h.client.Do(ctx, homeclient.Request{Method: "GET", Path: "/v1/entities/" + url.PathEscape(entity) + "/signers"}, nil, &got); {
	case err == nil:
		k = trusted{keys: map[string]seal.PublicKey{}, epoch: got.Epoch}
		for _, jwk := range got.Keys {
			key, err := seal.ParsePublicKey(jwk)
			if err != nil {
				return trusted{}, fmt.Errorf("a key of the homeserver that keeps %s: %w", entity, err)
			}
			k.keys[key.ID] = key
		}
	case !known || fresh || status == http.StatusNotFound:
		return trusted{}, err
	} // else what it said before counts for longer
	k.at = time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.trusted[entity] = k
	return k, nil
}
