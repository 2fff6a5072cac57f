// Package homeserver listens for the requests that package home answers, and keeps what they change in a metadata tree (package store).
//
// A request is one transaction of the tree, and its answer leaves when the store has it: what was answered outlives the process. What was asked,
// by whom, and what came of it, is a line of the audit log, which is written before the answer.
//
// The caller's duties:
//
//  1. Where other hosts reach the listener, Options.Outside says so, and its connections are encrypted.
//  2. Begin is called once before Serve.
package homeserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"metasim/federates/authority/home"
	"metasim/federates/authority/homeclient"
	"metasim/federates/authority/store"
	"metasim/federates/authority/tree"
	"metasim/metasim"
)

// A config says how a homeserver listens. Validate checks it.
type config struct {
	// Home is what it decides.
	Home home.Config
	// Store is where it keeps it. Not nil.
	Store *store.Store
	// Favor says which state is read where nothing is changed: store.Consistency asks the store first, store.LowLatency answers also while the
	// store does not.
	Favor store.Favor
	// Outside: other hosts reach it. /metrics wants a token then.
	Outside bool
	// Rate is how many requests a second an account may send, with twice as many at once after a pause; an address may send ten times as many, for those that
	// share one. 0: 500.
	Rate float64
	// Neighbours are the other homeservers, by name.
	Neighbours map[string]Neighbour
	// CertFile is that of homeclient.Config, for all of them.
	CertFile string
	// Audit takes a line of JSON for each request. Not nil.
	Audit io.Writer
	// Log hears of what goes wrong inside. Not nil.
	Log *slog.Logger
	// Now is the clock: Unix time. Not nil.
	Now func() time.Time
	// Draw returns random text of at least 128 bits. Not nil.
	Draw func() string
}

const defaultRate = 500

// mostNames is how many accounts, and how many addresses, the limits know at once.
const mostNames = 10_000

// A ConfigError says which field of a config is wrong.
type ConfigError struct{ Field, Why string }

func (e *ConfigError) Error() string { return e.Field + " " + e.Why }

// Validate says which field is wrong.
func (c *config) Validate() error {
	switch {
	case c.Store == nil, c.Audit == nil, c.Log == nil, c.Now == nil, c.Draw == nil:
		return &ConfigError{"Store, Audit, Log, Now or Draw", "is nil; give all of them"}
	case c.Rate < 0:
		return &ConfigError{"Rate", fmt.Sprintf("is %v; use requests a second", c.Rate)}
	}
	return c.Home.Validate()
}

// A server is a homeserver that listens. It is safe for concurrent use.
type server struct {
	cfg   config
	home  *home.Server
	count counts
	bells bells
	// neighbours are asked by name.
	neighbours map[string]*homeclient.Client
	ending     chan struct{} // closed when those who wait for mail are to be answered

	mu        sync.Mutex // the limits, and the audit log
	accounts  *home.Limiter
	addresses *home.Limiter
}

// A Neighbour is another homeserver, to which this one sends itself.
type Neighbour struct {
	At        string // its URL, or a file that has it
	TokenFile string // with the token of the account that this homeserver has there
}

// bells wake those who wait for mail.
type bells struct {
	mu     sync.Mutex
	waking map[string]chan struct{} // by name; closed when there is mail
}

// newServer returns one.
func newServer(cfg config) (*server, error) {
	cfg.Home.Homeservers = slices.Sorted(maps.Keys(cfg.Neighbours))
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if cfg.Rate == 0 {
		cfg.Rate = defaultRate
	}
	h, err := home.New(cfg.Home)
	if err != nil {
		return nil, err
	}
	neighbours := map[string]*homeclient.Client{}
	for name, n := range cfg.Neighbours {
		if neighbours[name], err = homeclient.New(homeclient.Config{At: n.At, TokenFile: n.TokenFile, Instance: cfg.Home.Instance, CertFile: cfg.CertFile}); err != nil {
			return nil, fmt.Errorf("homeserver %s: %w", name, err)
		}
	}
	return &server{
		cfg: cfg, home: h, count: newCounts(), neighbours: neighbours, ending: make(chan struct{}),
		accounts: home.NewLimiter(cfg.Rate, 2*cfg.Rate, mostNames), addresses: home.NewLimiter(10*cfg.Rate, 20*cfg.Rate, mostNames),
	}, nil
}

// Begin publishes the key of the homeserver, and makes the first account if there is none, with this token, or gives it this token. Without a token it draws one where there is no account, and
// returns it: it is kept nowhere.
func (s *server) Begin(ctx context.Context, token string) (drawn string, err error) {
	fresh := s.cfg.Draw()
	now := s.now()
	_, err = s.cfg.Store.Transact(ctx, func(tx *tree.Tx) error {
		v, given := &view{tx: tx}, token
		drawn = ""
		published, err := s.home.Publish(v)
		if err = errors.Join(err, v.err); err == nil {
			err = v.apply(published)
		}
		if err != nil {
			return err
		}
		if given == "" {
			if _, there := v.Get(home.AdminPath); there || v.err != nil {
				return v.err
			}
			given, drawn = fresh, fresh
		}
		commands, _, err := home.Begin(v, int64(now), given)
		if err = errors.Join(err, v.err); err == nil {
			err = v.apply(commands)
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("the key of the homeserver cannot be published, or the first account not be made: %w", err)
	}
	return drawn, nil
}

func (s *server) now() metasim.Time { return metasim.Time(s.cfg.Now().UnixNano()) }

// How long clients may take.
const (
	readTime  = 10 * time.Second // to send a request
	writeTime = 30 * time.Second // until an answer has been read
	idleTime  = 2 * time.Minute  // between two requests
	endTime   = 5 * time.Second  // to read the last answer when the server ends
	maxHeader = 16 << 10
)

// Serve answers requests until the context ends.
func (s *server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler: s, ReadTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(s.cfg.Log.Handler(), slog.LevelDebug),
	}
	stopped := make(chan error, 1)
	var sending sync.WaitGroup
	sending.Go(func() { s.sendAll(ctx) })
	defer sending.Wait()
	go func() {
		<-ctx.Done()
		close(s.ending)
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
		defer cancel()
		if err := server.Shutdown(last); errors.Is(err, context.DeadlineExceeded) {
			stopped <- server.Close() // who does not read is left
		} else {
			stopped <- err
		}
	}()
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("the homeserver cannot go on: %w", err)
	}
	return <-stopped
}
