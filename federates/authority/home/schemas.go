package home

import "metasim/federates/authority/transfer"

// A member is one of an object in a schema.
type member struct {
	name     string
	schema   object
	optional bool
}

// schemas are the bodies of requests and answers, by name.
func schemas() object {
	text, whole, yes := object{"type": "string"}, object{"type": "integer", "minimum": 0}, object{"type": "boolean"}
	name := object{"type": "string", "pattern": `^[A-Za-z0-9_-][A-Za-z0-9_.-]*$`, "maxLength": maxName}
	epoch := object{"type": "integer", "minimum": 0, "maximum": 65535, "description": "the number of the ownership; after 65535 comes 0"}
	born := object{"type": "integer", "minimum": 0, "maximum": 65535, "description": "the epoch with which it was entered; while it has that, it has had no other owner"}
	rule := object{"enum": []string{"deny", "ask", "allow"}}
	seconds := object{"type": "integer", "minimum": 0, "maximum": maxSeconds, "description": "Unix time in seconds; 0: none"}
	jwk := object{"type": "object", "description": "a public key as JWK (RFC 7517): kty EC, crv P-256, x, y, and use (sig or enc) or none for both"}
	is := func(name string, schema object) member { return member{name, schema, false} }
	may := func(name string, schema object) member { return member{name, schema, true} }
	account := []member{is("name", name), is("admin", yes), is("created_ns", whole)}
	all := object{
		"Account":       structure(account...),
		"NewAccount":    structure(append(account, is("token", text))...),
		"AccountWish":   structure(is("name", name), may("admin", yes)),
		"Key":           structure(is("kid", text), is("account", name), is("jwk", jwk), is("valid_from", seconds), is("valid_until", seconds)),
		"KeyWish":       structure(is("jwk", jwk), may("issued", seconds), may("valid_until", seconds)),
		"Entity":        structure(is("id", name), is("owner", name), is("master", text), is("rule", rule), is("epoch", epoch), is("born", born)),
		"EntityWish":    structure(is("id", name), may("owner", name), may("master", name), may("rule", rule)),
		"Ownership":     structure(is("owner", name), is("epoch", epoch)),
		"OwnershipWish": structure(may("owner", name), may("epoch", epoch)),
		"Mastership":    structure(is("master", name)),
		"Rule":          structure(is("rule", rule)),
		"Answer":        structure(is("answer", object{"enum": []string{"yes", "no"}})),
		"Request": structure(is("request", whole), is("entity", name), is("requester", name), is("owner", name), is("epoch", epoch), is("asked_ns", whole), is("until_ns", whole),
			is("status", object{"enum": []string{pending, granted, refused}}), may("reason", text)),
		"RequestList": structure(is("items", object{"type": "array", "items": ref("Request")})),
		"Server":      structure(is("name", name), is("url", text), is("kid", text), is("jwk", jwk), is("since_ns", whole), is("registration", whole)),
		"Signer":      structure(is("kid", text), is("homeserver", text), is("jwk", jwk)),
		"Signers":     structure(is("owner", name), is("epoch", epoch), is("keys", object{"type": "array", "items": jwk})),
		"ServerWish":  structure(is("url", text), is("jwk", jwk)),
		"Message":     messageSchema(),
		"Mail":        structure(is("items", object{"type": "array", "items": structure(is("number", whole), is("message", ref("Message")))})),
		"Problem":     problemSchema(),
	}
	for _, item := range []string{"Account", "Key", "Entity", "Server", "Signer"} {
		all[item+"List"] = structure(is("items", object{"type": "array", "items": ref(item)}), may("next", text))
	}
	return all
}

// messageSchema is what servers say to each other; its members beyond the trail depend on the kind.
func messageSchema() object {
	text, whole, yes := object{"type": "string"}, object{"type": "integer", "minimum": 0}, object{"type": "boolean"}
	names := object{"type": "array", "items": text, "maxItems": maxTrail}
	times := object{"type": "array", "items": object{"type": "integer"}, "maxItems": maxTrail, "description": "Unix time in ns at which each of the trail has sent it; or nobody says"}
	kinds := []transfer.Kind{transfer.Request, transfer.Question, transfer.Answer, transfer.Grant, transfer.Refusal, transfer.Handover, transfer.Ack, transfer.SetRule, transfer.Removal}
	return structure(member{"kind", object{"enum": kinds}, false}, member{"requester", text, false}, member{"id", whole, false}, member{"entity", text, false},
		member{"owner", text, true}, member{"epoch", object{"type": "integer", "minimum": 0, "maximum": 65535}, false}, member{"rule", text, true}, member{"yes", yes, true},
		member{"reason", text, true}, member{"state", object{"type": "object"}, true}, member{"confirm", yes, true}, member{"proof", text, true}, member{"route", names, true}, member{"trail", names, false}, member{"sent", times, true})
}

func ref(name string) object { return object{"$ref": "#/components/schemas/" + name} }

// structure is an object with these members and no others.
func structure(members ...member) object {
	properties, required := object{}, []string{}
	for _, m := range members {
		properties[m.name] = m.schema
		if !m.optional {
			required = append(required, m.name)
		}
	}
	return object{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

func problemSchema() object {
	types := []string{}
	for _, k := range kindsOfProblems() {
		types = append(types, problemPrefix+k.name)
	}
	text := object{"type": "string"}
	return structure(member{"type", object{"enum": types}, false}, member{"title", text, false}, member{"status", object{"type": "integer"}, false},
		member{"detail", text, false}, member{"instance", text, false})
}
