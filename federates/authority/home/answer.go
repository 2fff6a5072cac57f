package home

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const jsonType = "application/json"

// ok answers with a value, and the version of the node that it was read from; 0: none.
func ok(status int, version uint64, value any) (Response, *problem) {
	body, err := json.Marshal(value)
	if err != nil {
		return Response{}, refuse("internal", "an answer cannot be written: %v", err)
	}
	return Response{Status: status, ContentType: jsonType, ETag: etag(version), Body: append(body, '\n')}, nil
}

func etag(version uint64) string {
	if version == 0 {
		return ""
	}
	return `"` + strconv.FormatUint(version, 10) + `"`
}

// matches reports whether a header If-Match or If-None-Match names a version.
func matches(header string, version uint64) bool {
	for tag := range strings.SplitSeq(header, ",") {
		if tag = strings.TrimSpace(tag); version > 0 && (tag == "*" || tag == etag(version)) {
			return true
		}
	}
	return false
}

// fresh checks If-Match: a change is made only to what was read.
func (c *call) fresh(version uint64) *problem {
	if c.IfMatch == "" || matches(c.IfMatch, version) {
		return nil
	}
	p := refuse("precondition-failed", "If-Match is %s, and the resource has %s; read it again, and decide again", c.IfMatch, etag(version))
	p.etag = etag(version)
	return p
}

// read decodes the body, which has no field that is not known.
func (c *call) read(into any) *problem {
	switch jsontext.Value(c.Body).Kind() {
	case 'n', 't', 'f', '"', '0', '[': // null would be taken as an object without fields
		return refuse("malformed-json", "the body is no JSON object; see /openapi.json")
	}
	err := jsonv2.Unmarshal(c.Body, into, jsonv2.RejectUnknownMembers(true))
	var meaning *jsonv2.SemanticError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, jsonv2.ErrUnknownName) && errors.As(err, &meaning):
		return refuse("unknown-field", "the body has %s, which is no field of it; leave it out, see /openapi.json", meaning.JSONPointer)
	case errors.As(err, &meaning):
		return refuse("malformed-json", "the value at %q of the body, byte %d, is not of its type; see /openapi.json", meaning.JSONPointer, meaning.ByteOffset)
	}
	return refuse("malformed-json", "%v; see /openapi.json", err)
}

// load reads a node of the tree as JSON. It returns version 0 where there is none.
func (c *call) load(path string, into any) (version uint64, p *problem) {
	n, found := c.tree.Get(path)
	if !found {
		return 0, nil
	}
	if err := json.Unmarshal(n.Payload, into); err != nil {
		return 0, refuse("internal", "what the tree has at %s cannot be read: %v", path, err)
	}
	return n.Version, nil
}

// store writes a node of the tree, which had this version. It returns the version that the node has then: the same where nothing changes.
func (c *call) store(path string, version uint64, value any) (next uint64, p *problem) {
	do, p := c.command(path, version, value)
	if p != nil {
		return 0, p
	}
	if old, found := c.tree.Get(path); found && bytes.Equal(old.Payload, do.Payload) {
		return old.Version, nil
	}
	c.commands = append(c.commands, do)
	return version + 1, nil
}

func (c *call) command(path string, version uint64, value any) (Command, *problem) {
	payload, err := json.Marshal(value)
	if err != nil {
		return Command{}, refuse("internal", "what is for %s cannot be written: %v", path, err)
	}
	return Command{path, payload, version}, nil
}

func (c *call) remove(path string, version uint64) {
	c.commands = append(c.commands, Command{path, nil, version})
}

// A page of a list.
type page struct {
	Items []any  `json:"items"`
	Next  string `json:"next,omitempty"` // what to give as after for those that follow
}

// list answers with the items below a path.
func (c *call) list(path string, item func(name string) (any, *problem)) (Response, *problem) {
	limit, after := stdList, ""
	for _, q := range c.Query {
		switch q[0] {
		case "limit":
			n, err := strconv.Atoi(q[1])
			if err != nil || n < 1 || n > maxList {
				return Response{}, refuse("invalid-value", "limit is %q; use 1 to %d", q[1], maxList)
			}
			limit = n
		case "after":
			after = q[1]
		}
	}
	names := c.tree.List(path, after, limit+1)
	out := page{Items: []any{}}
	if len(names) > limit {
		names = names[:limit]
		out.Next = names[limit-1]
	}
	for _, name := range names {
		v, p := item(name)
		if p != nil {
			return Response{}, p
		}
		out.Items = append(out.Items, v)
	}
	return ok(200, 0, out)
}

// checkName says why a text is no name of an account or an entity.
func checkName(what, name string) *problem {
	good := name != "" && len(name) <= maxName && name[0] != '.'
	for _, r := range []byte(name) {
		good = good && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
	}
	if good {
		return nil
	}
	return refuse("invalid-value", "%s is %q; use 1 to %d letters, digits, '-', '_' and '.', not '.' first", what, clip(name), maxName)
}

// clip shortens what others wrote: it stands in answers and in the audit log.
func clip(text string) string {
	const most = 256
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// versionOf is the version that an ETag of this homeserver names.
func versionOf(tag string) uint64 {
	n, err := strconv.ParseUint(strings.Trim(tag, `"`), 10, 64)
	if err != nil {
		return 0 // no version
	}
	return n
}
