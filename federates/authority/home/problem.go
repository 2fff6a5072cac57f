package home

import (
	"encoding/json"
	"fmt"

	"metasim/federates/authority/transfer"
)

// A problem is why something is refused, as RFC 9457 has it.
type problem struct {
	name   string
	detail string
	allow  string // methods
	etag   string
}

// problemPrefix and a name are the type of a problem.
const problemPrefix = "urn:metasim:problem:"

const problemType = "application/problem+json"

// A kindOfProblem is what all problems of a name have in common.
type kindOfProblem struct {
	name   string
	status int
	title  string
}

// kindsOfProblems are all of them: the name, the status of HTTP, and what it is.
func kindsOfProblems() []kindOfProblem {
	return []kindOfProblem{
		{"unauthenticated", 401, "The token is missing or not known"},
		{"forbidden", 403, "The account may not do this"},
		{"not-found", 404, "There is no such resource"},
		{"unknown-account", 404, "There is no such account"},
		{"unknown-key", 404, "There is no such key"},
		{"unknown-entity", 404, "There is no such entity"},
		{"unknown-request", 404, "There is no such request for ownership"},
		{"unknown-server", 404, "There is no such server"},
		{"method-not-allowed", 405, "The resource does not have this method"},
		{"exists", 409, "There is one of this name"},
		{"not-let-go", 409, "An entity of this name was removed, and a server may still own it"},
		{"superseded", 409, "Another process has registered as this simulation server"},
		{"own-account", 409, "An admin does not remove its own account"},
		{"own-key", 409, "A homeserver does not remove the key by which it signs"},
		{"answered", 409, "The request was answered already"},
		{"too-many-pending", 409, "Too many requests wait for the master"},
		{"unexpected-message", 409, "The message is not for a homeserver, or not from who sent it"},
		{"mailbox-full", 409, "Too many messages wait for a server"},
		{"precondition-failed", 412, "The resource has changed since it was read"},
		{"body-too-large", 413, "The body is too large"},
		{"wrong-content-type", 415, "The body is no application/json"},
		{"other-instance", 421, "The request is for another instance"},
		{"malformed-json", 400, "The body is no JSON of the right form"},
		{"unknown-field", 400, "The body has a field that is not known"},
		{"unknown-parameter", 400, "The query has a parameter that is not known"},
		{"invalid-value", 400, "A value is not allowed"},
		{"forged-trail", 400, "The hops that the request claims are not those that it has travelled"},
		{"bad-key", 400, "The key is no public key on P-256"},
		{"private-key", 400, "A private key was sent"},
		{"expired-key", 400, "The key is not valid any more"},
		{"clock-skew", 400, "The clocks of the sender and of the homeserver are too far apart"},
		{"too-many-requests", 429, "There were too many requests"},
		{"internal", 500, "The homeserver failed"},
		{"homeserver-unreachable", 502, "Another homeserver, which is to answer, cannot be reached"},
		{"store-unavailable", 503, "The store does not answer"},

		{string(transfer.Denied), 403, "The rule denies it"},
		{string(transfer.NoAnswer), 409, "The master did not answer in time"},
		{string(transfer.NotOwner), 403, "Only the owner gives an entity away"},
		{string(transfer.Owned), 409, "The requester owns the entity already"},
		{string(transfer.Stale), 409, "The epoch is not that of the entity"},
		{string(transfer.NotMaster), 403, "Only the master does this"},
		{string(transfer.NoRule), 400, "The rule is none of deny, ask and allow"},
	}
}

func kindOf(name string) kindOfProblem {
	for _, k := range kindsOfProblems() {
		if k.name == name {
			return k
		}
	}
	return kindOfProblem{name, 500, "The homeserver failed"}
}

// refuse makes a problem: what is wrong, and what to do instead.
func refuse(name, format string, args ...any) *problem {
	return &problem{name: name, detail: fmt.Sprintf(format, args...)}
}

// A problemBody is what is sent.
type problemBody struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail"`
	Instance string `json:"instance"` // the path that was asked
}

// response is how a problem is sent.
func (p *problem) response(path string) Response {
	k := kindOf(p.name)
	body, err := json.Marshal(problemBody{problemPrefix + p.name, k.title, k.status, p.detail, path})
	if err != nil {
		body = []byte(`{"type":"` + problemPrefix + `internal","title":"The homeserver failed","status":500}`)
	}
	return Response{Status: k.status, ContentType: problemType, Body: body, Allow: p.allow, ETag: p.etag, Challenge: k.status == 401}
}
