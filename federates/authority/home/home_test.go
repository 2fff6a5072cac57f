package home

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"metasim/internal/script"
	"metasim/metasim"
)

// A plainTree is a tree as a map.
type plainTree map[string]Node

func (t plainTree) Get(path string) (Node, bool) {
	n, ok := t[path]
	return n, ok
}

func (t plainTree) List(path, after string, limit int) (names []string) {
	for p := range t {
		if name, below := strings.CutPrefix(p, path+"/"); below && !strings.Contains(name, "/") && name > after {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names[:min(limit, len(names))]
}

func (t plainTree) apply(commands []Command) error {
	for _, c := range commands {
		switch old := t[c.Path]; {
		case old.Version != c.Version:
			return fmt.Errorf("%s has version %d, not %d", c.Path, old.Version, c.Version)
		case c.Payload == nil:
			delete(t, c.Path)
		default:
			t[c.Path] = Node{c.Payload, old.Version + 1}
		}
	}
	return nil
}

const adminToken = "0123456789abcdef"

// aPrivateKey is of RFC 7515, A.3.
var aPrivateKey = []byte(strings.Replace(aKey, "{", `{"d":"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI",`, 1))

// A stage is a homeserver, its tree and its clock.
type stage struct {
	t      *testing.T
	server *Server
	tree   plainTree
	now    metasim.Time
	tokens map[string]string
	drawn  int
	check  *checker
}

func newStage(t *testing.T) *stage {
	s := &stage{t: t, tree: plainTree{}, now: 1000 * second, tokens: map[string]string{"admin": adminToken}, check: newChecker(t)}
	var err error
	s.server, err = New(Config{Instance: "east", Name: "home-a", Key: aPrivateKey, Homeservers: []string{"home-b"}})
	require.NoError(t, err)
	commands, made, err := Begin(s.tree, int64(s.now), adminToken)
	require.NoError(t, err)
	require.True(t, made)
	require.NoError(t, s.tree.apply(commands))
	for range 2 { // it is started again
		commands, err = s.server.Publish(s.tree)
		require.NoError(t, err)
		require.NoError(t, s.tree.apply(commands))
	}
	require.Empty(t, commands, "its key is there")
	return s
}

// do handles a request. Each answer is held against the document, and one that refuses changes nothing.
func (s *stage) do(r Request) (Response, Audit) {
	s.drawn++
	r.Fresh, r.Address = fmt.Sprintf("token-%010d", s.drawn), "127.0.0.1"
	if r.ContentType == "" && len(r.Body) > 0 {
		r.ContentType = "application/json; charset=utf-8"
	}
	out, commands, audit := s.server.Handle(s.tree, s.now, r)
	if out.Status >= 300 {
		require.Empty(s.t, commands)
	}
	require.NoError(s.t, s.tree.apply(commands))
	s.check.answer(s.t, s.server, &r, &out)
	return out, audit
}

// play carries out a line of a story: METHOD PATH [BODY] [as=ACCOUNT] [match=TAG] [none=TAG] [type=T] [for=INSTANCE] [trail=A,B] [limit=N] [after=NAME]; or wait SECONDS.
func (s *stage) play(c *script.Command) (string, error) {
	if c.Name == "wait" {
		text, _ := c.Word("for how many seconds")
		n, err := strconv.ParseFloat(text, 64)
		s.now += metasim.Time(n * float64(second))
		return "", err
	}
	path, err := c.Word("a path")
	if err != nil {
		return "", err
	}
	r := Request{Method: c.Name, Path: path, Trail: c.List("trail")}
	as, _ := c.Arg("as")
	r.Token = s.tokens[as]
	r.IfMatch, _ = c.Arg("match")
	r.IfNoneMatch, _ = c.Arg("none")
	r.ContentType, _ = c.Arg("type")
	r.Instance, _ = c.Arg("for")
	for _, name := range []string{"after", "limit", "page", "registered", "wait"} {
		if v, ok := c.Arg(name); ok {
			r.Query = append(r.Query, [2]string{name, v})
		}
	}
	if body, err := c.Word("a body"); err == nil {
		r.Body = []byte(body)
	}
	out, _ := s.do(r)
	return s.tell(out), nil
}

// tell prints an answer in a line, and remembers tokens.
func (s *stage) tell(out Response) string {
	text := strconv.Itoa(out.Status)
	if out.ETag != "" {
		text += " " + out.ETag
	}
	if out.Allow != "" {
		text += " allow " + out.Allow
	}
	var p problemBody
	if out.ContentType == problemType {
		require.NoError(s.t, json.Unmarshal(out.Body, &p))
		return text + " " + strings.TrimPrefix(p.Type, problemPrefix) + ": " + p.Detail
	}
	var a newAccount
	if json.Unmarshal(out.Body, &a) == nil && a.Token != "" {
		s.tokens[a.Name] = a.Token
	}
	return strings.TrimSpace(text + " " + string(out.Body))
}

func TestStories(t *testing.T) {
	script.Dir(t, "testdata/*.txt", func(t *testing.T) script.Handler { return newStage(t).play })
}

// A checker holds answers against the document.
type checker struct {
	schemas map[string]*jsonschema.Schema
	paths   map[string]map[string]struct {
		Responses map[string]json.RawMessage
	}
}

// document is the address of the document in the compiler of schemas: not a file, in whose path there may be a space.
const document = "urn:openapi"

func newChecker(t *testing.T) *checker {
	text, err := OpenAPI()
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020) // which OpenAPI 3.1 uses
	require.NoError(t, compiler.AddResource(document, doc))
	k := &checker{schemas: map[string]*jsonschema.Schema{}}
	for name := range schemas() {
		k.schemas[name], err = compiler.Compile(document + "#/components/schemas/" + name)
		require.NoError(t, err)
	}
	require.NoError(t, json.Unmarshal(text, &struct{ Paths any }{&k.paths}))
	return k
}

// answer checks that the document has this answer of this route, and that the body is as it says.
func (k *checker) answer(t *testing.T, s *Server, r *Request, out *Response) {
	c := &call{Request: r}
	name := "Problem"
	if s.find(c) == nil {
		responses := k.paths[c.route.path][strings.ToLower(c.route.method)].Responses
		require.Contains(t, responses, strconv.Itoa(out.Status), "%s %s: %s", r.Method, r.Path, out.Body)
		switch {
		case out.ContentType == problemType:
		case out.Status == 202:
			name = "Request"
		default:
			name = c.route.answer
		}
	}
	if len(out.Body) == 0 {
		require.Contains(t, []int{204, 304}, out.Status)
		return
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(out.Body))
	require.NoError(t, err)
	require.NoError(t, k.schemas[name].Validate(v), "%s %s", r.Method, r.Path)
	if body := k.schemas[routeBody(c)]; body != nil && out.Status < 300 {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(r.Body))
		require.NoError(t, err)
		require.NoError(t, body.Validate(v), "a body that is taken is one of the document")
	}
}

func routeBody(c *call) string {
	if c.route == nil {
		return ""
	}
	return c.route.body
}

// Each route is tried by the stories, and each kind of problem that the core has is met.
func TestStoriesMeetAllProblems(t *testing.T) {
	// The others are met by tests below, and by those of the room that listens.
	met := map[string]bool{"internal": true, "store-unavailable": true, "too-many-requests": true, "body-too-large": true, "too-many-pending": true,
		"mailbox-full": true, "homeserver-unreachable": true}
	script.Dir(t, "testdata/*.txt", func(t *testing.T) script.Handler {
		s := newStage(t)
		return func(c *script.Command) (string, error) {
			text, err := s.play(c)
			for _, k := range kindsOfProblems() {
				met[k.name] = met[k.name] || strings.Contains(text, " "+k.name+": ")
			}
			return text, err
		}
	})
	for _, k := range kindsOfProblems() {
		require.True(t, met[k.name], "no story meets %s", k.name)
	}
}

// A body that is too long is refused, and so is a name that would leave its folder. A tree that nobody can read is no reason to fall.
func TestBoundsOfRequests(t *testing.T) {
	s := newStage(t)
	out, audit := s.do(Request{Method: "POST", Path: "/v1/entities", Token: adminToken, ContentType: jsonType, TooLong: true})
	require.Equal(t, 413, out.Status)
	require.Equal(t, "body-too-large", audit.Outcome)
	for _, path := range []string{"/v1/entities/..", "/v1/entities/a\x00b", "/v1/accounts/" + strings.Repeat("a", 129)} {
		out, _ = s.do(Request{Method: "GET", Path: path, Token: adminToken})
		require.Equal(t, 400, out.Status, path)
	}
	out, audit = s.do(Request{Method: "GET", Path: "/v1/" + strings.Repeat("a", 5000), Token: adminToken})
	require.Less(t, len(out.Body), 1000)
	require.Less(t, len(audit.Path), 300)
	out, _ = s.do(Request{Method: "GET", Path: "/v1/accounts", Token: adminToken, Trail: slices.Repeat([]string{"admin"}, 65)})
	require.Contains(t, string(out.Body), "forged-trail")
	s.tree[entitiesPath+"/torn"] = Node{[]byte("{"), 1}
	out, _ = s.do(Request{Method: "GET", Path: "/v1/entities/torn", Token: adminToken})
	require.Equal(t, 500, out.Status)
	require.Contains(t, string(out.Body), "cannot be read")
}

// So many requests wait for a master, and no more; when time has refused them there is room again. What is over is forgotten at last.
func TestNobodyFillsTheTreeWithRequests(t *testing.T) {
	s := newStage(t)
	s.do(Request{Method: "POST", Path: "/v1/entities", Token: adminToken, Body: []byte(`{"id":"ball","rule":"ask"}`)})
	ask := func(name string) Response {
		out, _ := s.do(Request{Method: "POST", Path: "/v1/accounts", Token: adminToken, Body: []byte(`{"name":"` + name + `"}`)})
		require.Equal(t, 201, out.Status)
		s.tell(out)
		out, _ = s.do(Request{Method: "PUT", Path: "/v1/entities/ball/ownership", Token: s.tokens[name], Body: []byte(`{"owner":"` + name + `"}`)})
		return out
	}
	for round := range 4 {
		for i := range maxAsks {
			out := ask(fmt.Sprintf("sim-%d-%d", round, i))
			require.Equal(t, 202, out.Status)
		}
		out := ask(fmt.Sprintf("one-%d-too-many", round))
		require.Equal(t, 409, out.Status)
		require.Contains(t, string(out.Body), "too-many-pending")
		s.now += 31 * second
	}
	require.LessOrEqual(t, len(s.tree.List(asksPath+"/ball", "", maxList)), 2*maxAsks)
	_, found := s.tree.Get(askPath("ball", 4*maxAsks))
	require.True(t, found)
}

// The tree has no token, and neither has the audit.
func TestTokensAreKeptNowhere(t *testing.T) {
	s := newStage(t)
	out, audit := s.do(Request{Method: "POST", Path: "/v1/accounts", Token: adminToken, Body: []byte(`{"name":"sim-a"}`)})
	require.Equal(t, 201, out.Status)
	var a newAccount
	require.NoError(t, json.Unmarshal(out.Body, &a))
	line, err := json.Marshal(audit)
	require.NoError(t, err)
	all := string(line)
	for path, n := range s.tree {
		all += path + string(n.Payload)
	}
	require.NotContains(t, all, a.Token)
	require.NotContains(t, all, adminToken)
	require.Equal(t, []string{"/accounts/sim-a"}, audit.Changed)
	require.Equal(t, "admin", audit.Account)
	require.Equal(t, "sim-a", s.server.Whose(s.tree, Request{Token: a.Token}))
	require.Empty(t, s.server.Whose(s.tree, Request{Token: a.Token + "x"}))
}

// The first account may get another token; the old one is good for nothing then.
func TestBeginAgain(t *testing.T) {
	s := newStage(t)
	commands, made, err := Begin(s.tree, 0, adminToken)
	require.NoError(t, err)
	require.False(t, made)
	require.Empty(t, commands)
	commands, made, err = Begin(s.tree, 0, "another-token-of-it")
	require.NoError(t, err)
	require.False(t, made)
	require.NoError(t, s.tree.apply(commands))
	require.Empty(t, s.server.Whose(s.tree, Request{Token: adminToken}))
	require.Equal(t, firstAccount, s.server.Whose(s.tree, Request{Token: "another-token-of-it"}))
	_, _, err = Begin(s.tree, 0, "short")
	var short *TokenError
	require.ErrorAs(t, err, &short)
	s.tree["/accounts/admin"] = Node{[]byte("["), 1}
	_, _, err = Begin(s.tree, 0, adminToken)
	var torn *TreeError
	require.ErrorAs(t, err, &torn)
}

func TestConfig(t *testing.T) {
	for _, c := range []Config{{}, {Instance: "a", Path: []string{"b"}}, {Instance: "a", Name: "b", Homeservers: []string{"b"}}, {Instance: "a/b"}, {Instance: "a", Patience: -1}, {Instance: "a", Skew: -1}} {
		_, err := New(c)
		var wrong *ConfigError
		require.True(t, errors.As(err, &wrong), "%v", c)
	}
}

// A limiter lets nobody ask more often than it says, whatever others do, and remembers no more names than it should.
func TestLimiter(t *testing.T) {
	l := NewLimiter(2, 5, 100)
	now := metasim.Time(0)
	take := func(name string, n int) (taken int) {
		for range n {
			if l.Take(now, name) == 0 {
				taken++
			}
		}
		return taken
	}
	require.Equal(t, 5, take("a", 10))
	require.Equal(t, 5, take("b", 10))
	require.Equal(t, 1, l.Take(now, "a"))
	now += 1 * second
	require.Equal(t, 2, take("a", 10))
	now += 100 * second
	require.Equal(t, 5, take("a", 10))
	for i := range 1000 {
		take(strconv.Itoa(i), 1)
	}
	require.LessOrEqual(t, len(l.buckets), 101)
	require.Less(t, take("a newcomer", 10)+take("another", 10), 6, "they share a bucket")
	now += 100 * second
	for range 200 {
		take("a", 1)
	}
	require.Less(t, len(l.buckets), 3, "who is gone is forgotten")
}

// Whatever bytes come as a body, they are answered, and what is refused changes nothing.
func FuzzBody(f *testing.F) {
	f.Add("/v1/entities", []byte(`{"id":"ball"}`))
	f.Add("/v1/keys", []byte(`{"jwk":{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU","y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}}`))
	f.Add("/v1/entities/ball/ownership", []byte(`{"owner":"admin","epoch":70000}`))
	f.Fuzz(func(t *testing.T, path string, body []byte) {
		s := newStage(t)
		s.do(Request{Method: "POST", Path: "/v1/entities", Token: adminToken, Body: []byte(`{"id":"ball","rule":"ask"}`)})
		for _, method := range []string{"POST", "PUT", "GET"} {
			s.do(Request{Method: method, Path: path, Token: adminToken, Body: body})
		}
	})
}
