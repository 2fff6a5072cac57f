// Package etcd is a key-value store in an etcd cluster: several members of a store may be on several hosts, and a majority of the cluster decides.
//
// Authority keeps no history in etcd; the cluster should be told to forget it: --auto-compaction-mode=revision --auto-compaction-retention=1000.
package etcd

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"metasim/federates/authority/store"
)

// A Config says where a cluster is.
type Config struct {
	// Endpoints are URLs of members of the cluster, as of etcd's --listen-client-urls: "http://10.0.0.1:2379". Needed; name all members, so that each may be down.
	Endpoints []string
	// Prefix begins all keys. Empty is "/metasim/". Give each store of a cluster its own; it ends with "/".
	Prefix string
	// TLS is for https endpoints. nil: the certificates of this host's system.
	TLS *tls.Config
	// User and Password are for clusters with users. Empty: none.
	User, Password string
}

// Validate returns the config with defaults in the place of zeros, or what is wrong with it.
func (c Config) Validate() (Config, error) {
	if c.Prefix == "" {
		c.Prefix = "/metasim/"
	}
	if !strings.HasSuffix(c.Prefix, "/") {
		return c, fmt.Errorf("the prefix of keys is %q; it ends with /, so that no other prefix is part of it", c.Prefix)
	}
	if len(c.Endpoints) == 0 {
		return c, errors.New("no endpoint of etcd is given; name its members, as http://127.0.0.1:2379")
	}
	for _, e := range c.Endpoints {
		if u, err := url.Parse(e); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return c, fmt.Errorf("the endpoint of etcd is %q; it is a URL, as http://127.0.0.1:2379", e)
		}
	}
	return c, nil
}

// Times of the client.
const (
	aliveTime    = 2 * time.Second // without an answer for so long an endpoint is asked whether it lives, and has as long to answer
	rewatchPause = 100 * time.Millisecond
	closeTimeout = time.Second
)

// A cluster is a store.KV.
type cluster struct {
	client *clientv3.Client
	prefix string
	mu     sync.Mutex
	held   map[*held]bool
}

// Open returns the store in a cluster. That no member answers is seen by the first call.
func Open(c Config) (store.KV, error) {
	c, err := c.Validate()
	if err != nil {
		return nil, err
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: c.Endpoints, TLS: c.TLS, Username: c.User, Password: c.Password, Logger: zap.NewNop(),
		DialTimeout: aliveTime, DialKeepAliveTime: aliveTime, DialKeepAliveTimeout: aliveTime,
	})
	if err != nil {
		return nil, fmt.Errorf("etcd at %s: %w", strings.Join(c.Endpoints, " "), err)
	}
	return &cluster{client: client, prefix: c.Prefix, held: map[*held]bool{}}, nil
}

// failed says whether to try again may help.
func (c *cluster) failed(err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("etcd at %s: %w", strings.Join(c.client.Endpoints(), " "), err)
	code := status.Code(errors.Unwrap(err))
	if said, ok := errors.AsType[rpctypes.EtcdError](err); ok {
		code = said.Code()
	}
	switch code {
	case codes.InvalidArgument, codes.PermissionDenied, codes.Unauthenticated, codes.ResourceExhausted:
		return err
	}
	return fmt.Errorf("%w: %w; see that most members of the cluster run, and can be reached from here", store.ErrUnavailable, err)
}

func (c *cluster) Do(ctx context.Context, b store.Batch) (bool, error) { return c.do(ctx, b) }

func (c *cluster) do(ctx context.Context, b store.Batch, put ...clientv3.OpOption) (bool, error) {
	var conditions []clientv3.Cmp
	for _, p := range b.If {
		if p.Value == nil {
			conditions = append(conditions, clientv3.Compare(clientv3.CreateRevision(c.prefix+p.Key), "=", 0))
		} else {
			conditions = append(conditions, clientv3.Compare(clientv3.Value(c.prefix+p.Key), "=", string(p.Value)))
		}
	}
	var ops []clientv3.Op
	for _, s := range b.Delete {
		ops = append(ops, clientv3.OpDelete(c.prefix+s.From, clientv3.WithRange(c.prefix+s.To)))
	}
	for _, p := range b.Put {
		ops = append(ops, clientv3.OpPut(c.prefix+p.Key, string(p.Value), put...))
	}
	answer, err := c.client.Txn(ctx).If(conditions...).Then(ops...).Commit()
	if err != nil {
		return false, c.failed(err)
	}
	return answer.Succeeded, nil
}

func (c *cluster) Range(ctx context.Context, from, to string, limit int) ([]store.Pair, error) {
	if from >= to {
		return nil, nil
	}
	answer, err := c.client.Get(ctx, c.prefix+from, clientv3.WithRange(c.prefix+to), clientv3.WithLimit(int64(limit)))
	if err != nil {
		return nil, c.failed(err)
	}
	pairs := make([]store.Pair, len(answer.Kvs))
	for i, kv := range answer.Kvs {
		pairs[i] = store.Pair{Key: strings.TrimPrefix(string(kv.Key), c.prefix), Value: append([]byte{}, kv.Value...)}
	}
	return pairs, nil
}

// Watch begins again where the cluster breaks it off.
func (c *cluster) Watch(ctx context.Context) (<-chan struct{}, error) {
	out := make(chan struct{}, 1)
	first := c.client.Watch(clientv3.WithRequireLeader(ctx), c.prefix, clientv3.WithPrefix(), clientv3.WithCreatedNotify())
	go func() {
		defer close(out)
		for changes := first; ; {
			for range changes {
				select {
				case out <- struct{}{}:
				default: // an earlier change was not seen yet; both will be
				}
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(rewatchPause):
			}
			changes = c.client.Watch(clientv3.WithRequireLeader(ctx), c.prefix, clientv3.WithPrefix(), clientv3.WithCreatedNotify())
		}
	}()
	return out, nil
}

// Hold binds the key to a lease of whole seconds, at least one, which is renewed as long as this process lives.
func (c *cluster) Hold(ctx context.Context, key string, value []byte, ttl time.Duration) (store.Held, error) {
	lease, err := c.client.Grant(ctx, max(1, int64(ttl/time.Second)))
	if err != nil {
		return nil, c.failed(err)
	}
	done, err := c.do(ctx, store.Batch{If: []store.Pair{{Key: key}}, Put: []store.Pair{{Key: key, Value: value}}}, clientv3.WithLease(lease.ID))
	if err == nil && !done {
		err = store.ErrHeld
	}
	if err != nil {
		_, _ = c.client.Revoke(ctx, lease.ID) // it would end by itself
		return nil, err
	}
	life, end := context.WithCancel(context.Background())
	alive, err := c.client.KeepAlive(life, lease.ID)
	if err != nil {
		end()
		_, _ = c.client.Revoke(ctx, lease.ID) // it would end by itself
		return nil, c.failed(err)
	}
	h := &held{of: c, lease: lease.ID, lost: make(chan struct{}), end: end}
	c.mu.Lock()
	c.held[h] = true
	c.mu.Unlock()
	go func() {
		defer close(h.lost)
		for range alive { // until it is revoked, or was not renewed in time
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.held, h)
	}()
	return h, nil
}

func (c *cluster) Close() error {
	c.mu.Lock()
	var all []*held
	for h := range c.held {
		all = append(all, h)
	}
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	for _, h := range all {
		_ = h.Release(ctx) // a cluster that does not answer forgets it by itself
	}
	return c.client.Close()
}

// A held key.
type held struct {
	of    *cluster
	lease clientv3.LeaseID
	lost  chan struct{}
	end   context.CancelFunc
}

func (h *held) Lost() <-chan struct{} { return h.lost }

func (h *held) Release(ctx context.Context) error {
	h.end()
	_, err := h.of.client.Revoke(ctx, h.lease)
	if errors.Is(err, rpctypes.ErrLeaseNotFound) {
		err = nil // it has ended already
	}
	return h.of.failed(err)
}
