package home

import (
	"encoding/json"
	"strconv"
	"strings"
)

// apiVersion is that of what may be asked; its first number is in each path.
const apiVersion = "1.0.0"

// OpenAPI returns the document that says what may be asked: OpenAPI 3.1, as JSON.
func OpenAPI() ([]byte, error) {
	paths := object{}
	for _, r := range routes() {
		if paths[r.path] == nil {
			paths[r.path] = object{}
		}
		paths[r.path].(object)[strings.ToLower(r.method)] = operation(&r)
	}
	text := object{"text/plain": object{"schema": object{"type": "string"}}}
	plain := func(id, summary string, content object, others object, security ...any) object {
		others["200"] = object{"description": "OK", "content": content}
		return object{"get": object{"operationId": id, "summary": summary, "security": append([]any{}, security...), "responses": others}}
	}
	paths["/openapi.json"] = plain("showDocument", "This document", object{jsonType: object{"schema": object{"type": "object"}}}, object{})
	paths["/healthz"] = plain("showHealth", "Whether the homeserver and its store answer", text, object{
		"429": object{"description": "The address asks too often", "content": text}, "503": object{"description": "The store does not answer", "content": text},
	})
	paths["/metrics"] = plain("showMetrics", "Figures for Prometheus; where other hosts reach the homeserver, for accounts only", text, object{"401": object{"$ref": "#/components/responses/problem"}}, object{}, object{"token": []any{}})
	return json.MarshalIndent(object{
		"openapi": "3.1.0",
		"info": object{"title": "metasim homeserver", "version": apiVersion, "description": "Who owns an entity, who is its master, and by which rule it gets another owner. " +
			"A change takes effect if If-Match names the ETag that the resource has, or is left out; then the last write wins. " +
			"What is refused changes nothing, and is answered by a problem (RFC 9457)."},
		"servers":  []any{object{"url": "/"}},
		"security": []any{object{"token": []any{}}},
		"paths":    paths,
		"components": object{
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer"}},
			"schemas":         schemas(),
			"responses": object{"problem": object{"description": "It is refused, and nothing has changed",
				"content": object{problemType: object{"schema": ref("Problem")}}}},
		},
	}, "", " ")
}

// operation is a route in the document.
func operation(r *route) object {
	parameters := []any{}
	for part := range strings.SplitSeq(r.path, "/") {
		if name, open := strings.CutPrefix(part, "{"); open {
			parameters = append(parameters, object{"name": strings.TrimSuffix(name, "}"), "in": "path", "required": true, "schema": object{"type": "string"}})
		}
	}
	add := func(name, in string, schema object, text string) {
		parameters = append(parameters, object{"name": name, "in": in, "schema": schema, "description": text})
	}
	if r.list {
		add("limit", "query", object{"type": "integer", "minimum": 1, "maximum": maxList, "default": stdList}, "how many items")
		add("after", "query", object{"type": "string"}, "only those after this name")
	}
	if r.waits {
		add("wait", "query", object{"type": "integer", "minimum": 0, "maximum": maxWait, "default": 0}, "for how many seconds to wait where there is nothing")
	}
	if r.registered {
		add("registered", "query", object{"type": "integer", "minimum": 1}, "the registration of the server that asks: where another process has registered since, this one is refused")
	}
	if r.method == "GET" && !r.list {
		add("If-None-Match", "header", object{"type": "string"}, "answer 304 if this is still the ETag")
	} else if r.method != "GET" && r.status != 201 {
		add("If-Match", "header", object{"type": "string"}, "change it only if this is still the ETag")
	}
	add("Metasim-Instance", "header", object{"type": "string"}, "the instance that is meant; another one is refused")
	add("Metasim-Trail", "header", object{"type": "string"}, "who has passed the request on, with commas, and last the account that sends it")
	o := object{"operationId": r.id, "summary": r.summary, "parameters": parameters, "responses": answers(r)}
	if r.body != "" {
		o["requestBody"] = object{"required": true, "content": object{jsonType: object{"schema": ref(r.body)}}}
	}
	return o
}

// answers are all that a route may answer, the problems by their status.
func answers(r *route) object {
	good := object{"description": "OK"}
	if r.answer != "" {
		good["content"] = object{jsonType: object{"schema": ref(r.answer)}}
	}
	all := object{strconv.Itoa(r.status): good}
	if r.id == "setOwnership" {
		all["202"] = object{"description": "The master is asked; see Location", "content": object{jsonType: object{"schema": ref("Request")}}}
	}
	if r.method == "GET" && !r.list {
		all["304"] = object{"description": "It has not changed"}
	}
	for _, name := range append(commonProblems(r), r.problems...) {
		all[strconv.Itoa(kindOf(name).status)] = object{"$ref": "#/components/responses/problem"}
	}
	return all
}

// commonProblems are those that each route has.
func commonProblems(r *route) []string {
	common := []string{"unauthenticated", "other-instance", "forged-trail", "unknown-parameter", "invalid-value", "too-many-requests", "body-too-large", "internal", "store-unavailable"}
	if r.body != "" {
		common = append(common, "malformed-json", "unknown-field", "wrong-content-type")
	}
	if r.admin {
		common = append(common, "forbidden")
	}
	return common
}
