package session

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"metasim/internal/suggest"
	"metasim/metasim"
	"metasim/wire"
)

// A Permission says on which channels a client may publish, and to which it may subscribe.
type Permission struct {
	Publish, Subscribe *Channels
}

// Channels are the channels that a client may use. A nil *Channels are all.
type Channels struct {
	from   string // of the scenario: what allows them, "publish", say
	list   []string
	names  map[string]struct{}
	exprs  []metasim.Pattern
	filter bool // an expression may match more: it hears what is allowed only, as nobody may publish anything else
}

// NewChannels returns the channels that a list names: names, or regular expressions that match a whole name. from is the key of the
// scenario where it stands. A nil list is all channels, an empty one none.
func NewChannels(from string, list []string) (*Channels, error) {
	if list == nil {
		return nil, nil
	}
	c := &Channels{from: from, list: list, names: map[string]struct{}{}}
	for _, text := range list {
		p, err := metasim.CompilePattern(text)
		switch {
		case err != nil:
			return nil, err
		case p.IsName():
			c.names[text] = struct{}{}
		default:
			c.exprs = append(c.exprs, p)
		}
	}
	return c, nil
}

// AnyExpression returns the same channels for subscriptions where nobody publishes on another channel, so that an expression that matches more
// hears no more.
func (c *Channels) AnyExpression() *Channels {
	wide := *c
	wide.filter = true
	return &wide
}

// allows reports whether a channel may be used.
func (c *Channels) allows(channel string) bool {
	if c == nil {
		return true
	}
	_, named := c.names[channel]
	return named || slices.ContainsFunc(c.exprs, func(p metasim.Pattern) bool { return p.Match(channel) })
}

// covers reports whether all that a subscription can match may be used. What cannot be seen at once is taken for no: an expression has to
// stand in the list as it is, or to begin as one of the list that ends with .*, or to be a plain name.
func (c *Channels) covers(p metasim.Pattern) bool {
	subscription := p.Text()
	if p.IsName() {
		return c.allows(subscription)
	}
	if c == nil || c.filter {
		return true
	}
	prefix, _ := regexp.MustCompile(subscription).LiteralPrefix() // it has been compiled
	return slices.ContainsFunc(c.exprs, func(allowed metasim.Pattern) bool {
		begin, all := strings.CutSuffix(allowed.Text(), ".*")
		return allowed.Text() == subscription || all && regexp.QuoteMeta(begin) == begin && strings.HasPrefix(prefix, begin)
	})
}

// refusal says why a client may not join with what it declares; empty: it may.
func (p *Permission) refusal(h *wire.Hello, subscriptions []metasim.Pattern) string {
	for _, channel := range h.Publications {
		if !p.Publish.allows(channel) {
			return p.Publish.explain(h.Name, "publishes", "publish", channel)
		}
	}
	for _, sub := range subscriptions {
		if !p.Subscribe.covers(sub) {
			return p.Subscribe.explain(h.Name, "subscribes to", "subscribe to", sub.Text())
		}
	}
	return ""
}

// explain says what the client did, what it may do, what was probably meant, and what to change.
func (c *Channels) explain(client, does, do, what string) string {
	may := "nothing"
	if len(c.list) > 0 {
		may = suggest.Either(c.list)
	}
	meant := suggest.Near(what, c.list, (len(what)+2)/3)
	if meant != "" {
		meant = fmt.Sprintf(" (did you mean %q?)", meant)
	}
	return fmt.Sprintf("client %q %s %q%s, which the scenario does not allow: it may %s %s; use these, or add it to the client's %s",
		client, does, what, meant, do, may, c.from)
}
