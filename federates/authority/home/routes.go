package home

const (
	idPath   = "/v1/entities/{id}"
	asksBase = idPath + "/ownership/requests"
)

// routes are all that may be asked. /openapi.json is made of this table.
func routes() []route {
	entityProblems := []string{"unknown-entity", "precondition-failed", "not-master"}
	readProblems := []string{"unknown-entity", "homeserver-unreachable"}
	return []route{
		{method: "GET", path: "/v1/accounts", id: "listAccounts", summary: "All accounts", list: true, status: 200, answer: "AccountList", handle: listAccounts},
		{method: "POST", path: "/v1/accounts", id: "makeAccount", summary: "Make an account; its token is told this once", admin: true, body: "AccountWish",
			status: 201, answer: "NewAccount", problems: []string{"exists"}, handle: makeAccount},
		{method: "GET", path: "/v1/accounts/{name}", id: "showAccount", summary: "An account", status: 200, answer: "Account", problems: []string{"unknown-account"}, handle: showAccount},
		{method: "DELETE", path: "/v1/accounts/{name}", id: "removeAccount", summary: "Remove an account, with its token, its keys and its mail; what it owns stays", admin: true, status: 204,
			problems: []string{"unknown-account", "own-account", "precondition-failed"}, handle: removeAccount},
		{method: "POST", path: "/v1/accounts/{name}/token", id: "renewToken", summary: "Another token for an account; the one that it had is good for nothing then", status: 200, answer: "NewAccount",
			problems: []string{"unknown-account", "forbidden", "precondition-failed"}, handle: renewToken},

		{method: "GET", path: "/v1/keys", id: "listKeys", summary: "All public keys", list: true, status: 200, answer: "KeyList", handle: listKeys},
		{method: "POST", path: "/v1/keys", id: "publishKey", summary: "Publish a public key of the account that asks", body: "KeyWish", status: 201, answer: "Key",
			problems: []string{"exists", "bad-key", "private-key", "expired-key", "clock-skew"}, handle: publishKey},
		{method: "GET", path: "/v1/keys/{kid}", id: "showKey", summary: "A public key", status: 200, answer: "Key", problems: []string{"unknown-key"}, handle: showKey},
		{method: "DELETE", path: "/v1/keys/{kid}", id: "removeKey", summary: "Remove a public key", status: 204, problems: []string{"unknown-key", "forbidden", "precondition-failed"}, handle: removeKey},

		{method: "GET", path: "/v1/signers", id: "listSigners", summary: "The public keys of the homeservers that have worked on this tree", list: true, status: 200, answer: "SignerList", handle: listSigners},
		{method: "GET", path: "/v1/signers/{kid}", id: "showSigner", summary: "The public key of a homeserver", status: 200, answer: "Signer", problems: []string{"unknown-key"}, handle: showSigner},
		{method: "DELETE", path: "/v1/signers/{kid}", id: "removeSigner", summary: "Remove the key of a homeserver that is gone: what it has granted proves nothing any more", admin: true, status: 204,
			problems: []string{"unknown-key", "own-key", "precondition-failed"}, handle: removeSigner},

		{method: "GET", path: "/v1/servers", id: "listServers", summary: "All simulation servers that have registered here", list: true, status: 200, answer: "ServerList", handle: listServers},
		{method: "GET", path: "/v1/servers/{name}", id: "showServer", summary: "Where a simulation server is found, and its key; other homeservers are asked too", status: 200, answer: "Server",
			problems: []string{"unknown-server", "homeserver-unreachable"}, handle: showServer},
		{method: "PUT", path: "/v1/servers/{name}", id: "register", summary: "Be found as a simulation server; only the account itself registers", body: "ServerWish", status: 200, answer: "Server",
			problems: []string{"forbidden", "bad-key", "private-key", "precondition-failed"}, handle: register},
		{method: "POST", path: "/v1/messages", id: "takeMessage", summary: "Say what simulation servers and homeservers say to each other", body: "Message", status: 204,
			problems: []string{"unexpected-message", "unknown-server", "mailbox-full", "too-many-pending"}, handle: takeMessage},
		{method: "GET", path: "/v1/mail", id: "readMail", summary: "The messages that wait for the account that asks", list: true, waits: true, registered: true, status: 200, answer: "Mail", problems: []string{"superseded"}, handle: readMail},
		{method: "DELETE", path: "/v1/mail/{number}", id: "removeMail", summary: "Remove messages that were taken: this one and all before it", registered: true, status: 204, problems: []string{"superseded"}, handle: removeMail},

		{method: "GET", path: "/v1/entities", id: "listEntities", summary: "All entities", list: true, status: 200, answer: "EntityList", handle: listEntities},
		{method: "POST", path: "/v1/entities", id: "enterEntity", summary: "Add an entity", body: "EntityWish", status: 201, answer: "Entity",
			problems: []string{"exists", "unknown-account", "no-rule", "not-let-go"}, handle: enterEntity},
		{method: "GET", path: idPath, id: "showEntity", summary: "An entity", status: 200, answer: "Entity", problems: readProblems, handle: showEntity},
		{method: "DELETE", path: idPath, id: "removeEntity", summary: "Remove an entity; its master does, or an admin", status: 204, problems: append([]string{"mailbox-full"}, entityProblems...), handle: removeEntity},

		{method: "GET", path: idPath + "/ownership", id: "showOwnership", summary: "Who owns an entity", status: 200, answer: "Ownership", problems: readProblems, handle: showOwnership},
		{method: "PUT", path: idPath + "/ownership", id: "setOwnership", summary: "Ask for another owner: itself, or, if it is the owner, whomever", body: "OwnershipWish", status: 200, answer: "Ownership",
			problems: []string{"unknown-entity", "unknown-account", "precondition-failed", "denied", "not-owner", "owned", "stale", "too-many-pending", "unknown-server", "mailbox-full"}, handle: setOwnership},
		{method: "GET", path: idPath + "/signers", id: "showSigners", summary: "The keys by which it is signed who owns an entity, as a JWK Set (RFC 7517), and who does", status: 200, answer: "Signers",
			problems: readProblems, handle: showSigners},
		{method: "GET", path: asksBase, id: "listRequests", summary: "What the master of an entity was asked", status: 200, answer: "RequestList", problems: []string{"unknown-entity"}, handle: listAsks},
		{method: "GET", path: asksBase + "/{number}", id: "showRequest", summary: "What came of a request", status: 200, answer: "Request", problems: []string{"unknown-request"}, handle: showAsk},
		{method: "PUT", path: asksBase + "/{number}", id: "answerRequest", summary: "Say yes or no to a request; the master does", body: "Answer", status: 200, answer: "Request",
			problems: append([]string{"unknown-request", "answered", "no-answer"}, entityProblems...), handle: answerAsk},

		{method: "GET", path: idPath + "/mastership", id: "showMastership", summary: "Who is the master of an entity", status: 200, answer: "Mastership", problems: readProblems, handle: showMastership},
		{method: "PUT", path: idPath + "/mastership", id: "setMastership", summary: "Name another master; the master does", body: "Mastership", status: 200, answer: "Mastership",
			problems: append([]string{"unknown-account"}, entityProblems...), handle: setMastership},
		{method: "GET", path: idPath + "/rule", id: "showRule", summary: "The rule of an entity", status: 200, answer: "Rule", problems: readProblems, handle: showRule},
		{method: "PUT", path: idPath + "/rule", id: "setRule", summary: "Set the rule of an entity; the master does", body: "Rule", status: 200, answer: "Rule",
			problems: append([]string{"no-rule"}, entityProblems...), handle: setRule},
	}
}
