package homeserver

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"metasim/federates/authority/home"
	"metasim/federates/authority/homeclient"
	"metasim/federates/authority/store"
	"metasim/federates/authority/transfer"
	"metasim/federates/authority/tree"
)

// on returns what is closed when there is more mail for somebody.
func (b *bells) on(name string) <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.waking == nil {
		b.waking = map[string]chan struct{}{}
	}
	if b.waking[name] == nil {
		b.waking[name] = make(chan struct{})
	}
	return b.waking[name]
}

func (b *bells) ring(names []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, name := range names {
		if c := b.waking[name]; c != nil {
			close(c)
			delete(b.waking, name)
		}
	}
}

// lookAgain is how often who waits for mail looks: another homeserver may have put it into a store that they share.
const lookAgain = 500 * time.Millisecond

// whose returns the account that asks; empty: nobody whom the store knows now.
func (s *server) whose(ctx context.Context, in home.Request) (account string) {
	err := s.cfg.Store.Query(ctx, store.LowLatency, func(tx *tree.Tx) error {
		v := &view{tx: tx}
		account = s.home.Whose(v, in)
		return v.err
	})
	if err != nil {
		return "" // the answer itself says so
	}
	return account
}

// retryAfter is how long a homeserver waits before it sends again what another one did not take.
const retryAfter = 200 * time.Millisecond

// sendAll sends to the other homeservers what is for them, until ctx ends.
func (s *server) sendAll(ctx context.Context) {
	var all sync.WaitGroup
	for _, name := range slices.Sorted(maps.Keys(s.neighbours)) {
		all.Go(func() {
			again := time.NewTimer(0)
			for complained := false; ; {
				bell := s.bells.on(name)
				sent, err := s.sendTo(ctx, name)
				if err != nil && !complained && ctx.Err() == nil {
					s.cfg.Log.Warn("messages wait for another homeserver", "homeserver", name, "error", err)
				}
				complained = err != nil
				wait := lookAgain
				switch {
				case err != nil:
					wait = retryAfter
				case sent:
					continue
				}
				again.Reset(wait)
				select {
				case <-ctx.Done():
					return
				case <-bell:
					if err != nil {
						<-again.C
					}
				case <-again.C:
				}
			}
		})
	}
	all.Wait()
}

// sendTo sends what waits for another homeserver, and removes what that one has taken. Who dies between the two sends twice, which changes nothing.
func (s *server) sendTo(ctx context.Context, name string) (sent bool, err error) {
	var messages []transfer.Message
	var done []home.Command
	err = s.cfg.Store.Query(ctx, store.LowLatency, func(tx *tree.Tx) error {
		v := &view{tx: tx}
		var err error
		messages, done, err = s.home.Outgoing(v, name)
		return errors.Join(err, v.err)
	})
	for i := range messages {
		if err != nil {
			break
		}
		var refused *homeclient.ProblemError
		_, err = s.neighbours[name].Do(ctx, homeclient.Request{Method: "POST", Path: "/v1/messages"}, &messages[i], nil)
		if errors.As(err, &refused) && refused.Status < 500 && refused.Status != 401 && refused.Status != 429 {
			text, _ := json.Marshal(&messages[i]) // it was read from JSON
			s.cfg.Log.Error("another homeserver refuses a message", "homeserver", name, "error", err, "message", string(text))
			err = nil // it would be refused again
		}
		if err == nil {
			sent = true
			_, err = s.cfg.Store.Transact(ctx, func(tx *tree.Tx) error { return (&view{tx: tx}).apply(done[i : i+1]) })
		}
	}
	return sent, err
}
