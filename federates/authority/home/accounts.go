package home

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
)

// firstAccount is the name of the first one.
const firstAccount = "admin"

// minToken is the least length of a token that somebody chooses.
const minToken = 16

// A tokenNode is whose token has a hash.
type tokenNode struct {
	Account string `json:"account"`
}

// hash is what is kept of a token. Tokens are random, so no one has to be protected from guesses by a slow hash.
func hash(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// Begin returns the commands that make the first account, or that give it this token instead of the one that it has. made: it had none.
func Begin(t Tree, now int64, token string) (commands []Command, made bool, err error) {
	c := &call{tree: t}
	if err := CheckToken(token); err != nil {
		return nil, false, err
	}
	var a keptAccount
	version, p := c.load(accountsPath+"/"+firstAccount, &a)
	if p == nil && version == 0 {
		a.account = account{Name: firstAccount, Admin: true, CreatedNS: now}
	}
	if p == nil {
		_, p = c.setToken(&a, version, token)
	}
	if p != nil {
		return nil, false, &TreeError{p.detail}
	}
	return c.commands, version == 0, nil
}

// CheckToken says why a text cannot be the token of the first account.
func CheckToken(token string) error {
	if len(token) < minToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return &TokenError{len(token)}
	}
	return nil
}

// A TokenError: the token of the first account is too short, or has characters that no header of HTTP has.
type TokenError struct{ Length int }

func (e *TokenError) Error() string {
	return fmt.Sprintf("the token of the first account has %d characters; use at least %d, letters and digits, as from: openssl rand -hex 16", e.Length, minToken)
}

// A TreeError: what the tree has was not written by a homeserver.
type TreeError struct{ Detail string }

func (e *TreeError) Error() string { return e.Detail + "; use another data directory" }

// setToken gives an account another token; the one that it had is good for nothing then.
func (c *call) setToken(a *keptAccount, version uint64, token string) (next uint64, p *problem) {
	sum := hash(token)
	if sum == a.Token {
		return version, nil
	}
	if old, found := c.tree.Get(tokensPath + "/" + a.Token); found && a.Token != "" {
		c.remove(tokensPath+"/"+a.Token, old.Version)
	}
	a.Token = sum
	if _, p := c.store(tokensPath+"/"+sum, 0, tokenNode{a.Name}); p != nil {
		return 0, p
	}
	return c.store(accountsPath+"/"+a.Name, version, a)
}

// authenticate finds whose the token is.
func (c *call) authenticate() *problem {
	var node tokenNode
	var a keptAccount
	if c.Token != "" {
		version, p := c.load(tokensPath+"/"+hash(c.Token), &node)
		if p == nil && version > 0 {
			_, p = c.load(accountsPath+"/"+node.Account, &a)
		}
		if p != nil {
			return p
		}
	}
	if a.Name == "" {
		return refuse("unauthenticated", "show the token of an account as Authorization: Bearer TOKEN")
	}
	c.account = a.account
	return nil
}

// existing refuses names of accounts that do not exist.
func (c *call) existing(what, name string) *problem {
	if p := checkName(what, name); p != nil {
		return p
	}
	if _, found := c.tree.Get(accountsPath + "/" + name); !found {
		return refuse("unknown-account", "%s is %q, and there is no such account; have an admin make it", what, name)
	}
	return nil
}

// A newAccount is an account with its token, which is told this once.
type newAccount struct {
	account
	Token string `json:"token"`
}

func listAccounts(c *call) (Response, *problem) {
	return c.list(accountsPath, func(name string) (any, *problem) {
		var a keptAccount
		_, p := c.load(accountsPath+"/"+name, &a)
		return a.account, p
	})
}

func makeAccount(c *call) (Response, *problem) {
	var in struct {
		Name  string `json:"name"`
		Admin bool   `json:"admin"`
	}
	if p := c.read(&in); p != nil {
		return Response{}, p
	}
	if p := checkName("name", in.Name); p != nil {
		return Response{}, p
	}
	if _, found := c.tree.Get(accountsPath + "/" + in.Name); found {
		return Response{}, refuse("exists", "there is an account %s; choose another name, or give it another token", in.Name)
	}
	a := keptAccount{account: account{in.Name, in.Admin, int64(c.now)}, Token: ""}
	version, p := c.setToken(&a, 0, c.Fresh)
	if p != nil {
		return Response{}, p
	}
	r, p := ok(201, version, newAccount{a.account, c.Fresh})
	r.Location = "/v1/accounts/" + in.Name
	return r, p
}

// named returns the account that the path names.
func (c *call) named() (a keptAccount, version uint64, p *problem) {
	version, p = c.load(accountsPath+"/"+c.names[0], &a)
	if p == nil && version == 0 {
		p = refuse("unknown-account", "there is no account %q", c.names[0])
	}
	return a, version, p
}

func showAccount(c *call) (Response, *problem) {
	a, version, p := c.named()
	if p != nil {
		return Response{}, p
	}
	return ok(200, version, a.account)
}

func removeAccount(c *call) (Response, *problem) {
	a, version, p := c.named()
	if p == nil {
		p = c.fresh(version)
	}
	if p == nil && a.Name == c.account.Name {
		p = refuse("own-account", "%s is the account that asks; have another admin remove it", a.Name)
	}
	if p != nil {
		return Response{}, p
	}
	if node, found := c.tree.Get(tokensPath + "/" + a.Token); found {
		c.remove(tokensPath+"/"+a.Token, node.Version)
	}
	if p := c.removeKeys(a.Name); p != nil {
		return Response{}, p
	}
	c.removeLetters(a.Name, math.MaxUint64)
	for _, path := range []string{mailPath + "/" + a.Name, serversPath + "/" + a.Name} {
		if node, found := c.tree.Get(path); found {
			c.remove(path, node.Version)
		}
	}
	c.remove(accountsPath+"/"+a.Name, version)
	return Response{Status: 204}, nil
}

func renewToken(c *call) (Response, *problem) {
	a, version, p := c.named()
	if p == nil && !c.account.Admin && a.Name != c.account.Name {
		p = refuse("forbidden", "%s asks for a token of %s; use the token of that account, or of an admin", c.account.Name, a.Name)
	}
	if p == nil {
		p = c.fresh(version)
	}
	if p == nil {
		version, p = c.setToken(&a, version, c.Fresh)
	}
	if p != nil {
		return Response{}, p
	}
	return ok(200, version, newAccount{a.account, c.Fresh})
}

// AdminPath is where the tree has the first account.
const AdminPath = accountsPath + "/" + firstAccount

// Counted are the kinds of nodes whose number says how large a homeserver is: the names of the nodes below which they are.
func Counted() []string {
	return []string{accountsPath[1:], entitiesPath[1:], keysPath[1:]}
}
