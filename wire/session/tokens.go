package session

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
)

// tokens are the join tokens of a run: one for all clients, and those that are bound to the name of a client. A bound one is good for one join.
type tokens struct {
	all   string            // empty: no client needs one
	bound map[string]string // by name: these clients cannot use the one for all
	known map[[sha256.Size]byte]struct{}
}

func newTokens(c *ServerConfig) tokens {
	t := tokens{all: c.Token, bound: c.Tokens, known: make(map[[sha256.Size]byte]struct{}, len(c.Tokens))}
	for _, name := range c.Names {
		if token, bound := c.Tokens[name]; bound {
			t.known[sha256.Sum256([]byte(token))] = struct{}{}
		}
	}
	return t
}

// admits reports whether a peer that shows this token may speak. Who may join with it, its Hello decides. It may be called by
// several goroutines at once.
func (t *tokens) admits(token string) bool {
	_, known := t.known[sha256.Sum256([]byte(token))]
	return known || t.all == "" && len(t.known) == 0 || t.all != "" && equal(token, t.all)
}

// refusal says why a client may not join with a token; empty: it may.
func (t *tokens) refusal(client, token string, joined bool) string {
	own, bound := t.bound[client]
	switch {
	case !bound && (t.all == "" && len(t.known) == 0 || t.all != "" && equal(token, t.all)):
		return ""
	case !bound:
		return fmt.Sprintf("client %q has not the join token of this run; give it METASIM_TOKEN as the server printed it", client)
	case !equal(token, own):
		return fmt.Sprintf("client %q has not its own join token; give it METASIM_TOKEN as the server wrote it beside this name into its file of join tokens; in a run with --nested, join at the address of the scenario that it is in", client)
	case joined:
		return fmt.Sprintf("the join token of client %q has been used; it is good for one join", client)
	}
	return ""
}

func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
