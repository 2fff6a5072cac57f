package session

import (
	"fmt"

	"metasim/metasim"
	"metasim/wire"
)

// compile compiles and checks the subscriptions of a Hello.
func (s *Server) compile(h wire.Hello) prepared {
	cost := 0
	for _, sub := range h.Subscriptions {
		if cost += metasim.SubscriptionCost(sub); cost > metasim.MaxSubscriptionCost {
			return prepared{Hello: h, reason: wire.BadMessage, why: fmt.Sprintf(
				"client %q subscribes with regular expressions that cost more than %d states together; use plain names, or fewer and simpler expressions",
				h.Name, metasim.MaxSubscriptionCost)}
		}
	}
	r := prepared{Hello: h}
	for _, sub := range h.Subscriptions {
		p, err := metasim.CompilePattern(sub)
		if sub == "" {
			err = metasim.CheckSubscription(sub)
		}
		if err != nil {
			return prepared{Hello: h, reason: wire.BadMessage, why: fmt.Sprintf(
				"client %q subscribes to %q, which is neither a channel name nor a regular expression: %v", h.Name, sub, err)}
		}
		r.patterns = append(r.patterns, p)
	}
	allowed := s.config.Permissions[h.Name]
	if why := allowed.refusal(&h, r.patterns); why != "" {
		return prepared{Hello: h, reason: wire.NotAllowed, why: why}
	}
	return s.inFull(r)
}

// helloOf returns a Hello, and what was prepared of it, nil if it was not.
func helloOf(body wire.Body) (h wire.Hello, ready *prepared, is bool) {
	switch hello := body.(type) {
	case wire.Hello:
		return hello, nil, true
	case *prepared:
		return hello.Hello, hello, true
	}
	return wire.Hello{}, nil, false
}
