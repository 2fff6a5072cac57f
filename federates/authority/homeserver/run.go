package homeserver

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"metasim/federates/authority/home"
	"metasim/federates/authority/store"
	"metasim/federates/authority/store/bolt"
	"metasim/federates/authority/store/etcd"
	"metasim/internal/atomicfile"
	"metasim/internal/filelock"
	"metasim/internal/outward"
	"metasim/wire/transport/secure"
)

// Options are what a person says who starts a homeserver.
type Options struct {
	// Home is what it decides.
	Home home.Config
	// Listen is host:port; port 0 is any free one.
	Listen string
	// Outside: other hosts reach Listen. Certificate is needed then.
	Outside bool
	// Certificate has PEM files; none: nothing is encrypted.
	Certificate secure.Files
	// Dir is its directory, with its audit log and, without Etcd, its tree. It is made if it is missing.
	Dir string
	// Etcd are the URLs of a cluster that has the tree. None: a file of Dir.
	Etcd []string
	// Favor says which state is read where nothing is changed: store.Consistency asks the store first, store.LowLatency answers also while the store does not.
	Favor store.Favor
	// Rate is how many requests a second an account may send; 0: 500. An address may send ten times as many.
	Rate float64
	// AuditBytes is how large the audit log becomes before it is one of the older ones, of which AuditKeep stay; 0: it grows.
	AuditBytes int64
	AuditKeep  int
	// Neighbours are the other homeservers, by name.
	Neighbours map[string]Neighbour
	// CertFile has who has signed their certificates, or those; empty: whom the system trusts.
	CertFile string
	// Token is that of the first account; empty: one is drawn when there is none.
	Token string
	// Log hears of what goes wrong. Not nil.
	Log *slog.Logger
	// Ready is called once it listens: with its URL and, where the first account was made now, its token. Not nil.
	Ready func(url, token string) error
}

// The files of a homeserver's directory.
const (
	treeFile  = "tree.db"
	auditFile = "audit.log"
	lockFile  = "lock"
	keyFile   = "grants.jwk"
)

// A BusyError: another homeserver works on the directory.
type BusyError struct{ Dir, PID string }

func (e *BusyError) Error() string {
	return "another homeserver, process " + e.PID + ", has the directory " + e.Dir + "; end it, or name another directory"
}

// Validate says which option is wrong.
func (o *Options) Validate() error {
	switch {
	case o.Dir == "":
		return &ConfigError{"--data", "is missing; name a directory, which is made if it is not there"}
	case (o.Certificate.Cert == "") != (o.Certificate.Key == ""):
		return &ConfigError{"--cert and --key", "belong together; give both, or none"}
	case o.Outside && o.Certificate.Cert == "":
		return &ConfigError{"--listen " + o.Listen, "is reached by other hosts, and nothing would be encrypted; give --cert and --key, or listen at 127.0.0.1"}
	case o.Rate < 0:
		return &ConfigError{"--rate", fmt.Sprintf("is %v; use a number of requests a second, or 0 for %d", o.Rate, defaultRate)}
	}
	if len(o.Etcd) > 0 {
		if _, err := o.cluster().Validate(); err != nil {
			return fmt.Errorf("--etcd: %w", err)
		}
	}
	cfg := o.Home
	cfg.Homeservers = slices.Sorted(maps.Keys(o.Neighbours))
	return cfg.Validate()
}

// cluster is the part of the cluster that one instance has.
func (o *Options) cluster() etcd.Config {
	return etcd.Config{Endpoints: o.Etcd, Prefix: "/metasim/" + o.Home.Instance + "/"}
}

// Run is a homeserver until the context ends.
func Run(ctx context.Context, o Options) (err error) {
	if err := o.Validate(); err != nil {
		return err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return err
	}
	lock, err := takeDir(o.Dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, filelock.Close(lock)) }()
	if o.Home.Key, err = openKey(filepath.Join(o.Dir, keyFile)); err != nil {
		return err
	}
	audit, err := openAudit(filepath.Join(o.Dir, auditFile), o.AuditBytes, o.AuditKeep)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, audit.Close()) }()
	kept, err := o.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, kept.Close()) }()
	s, err := newServer(config{Home: o.Home, Store: kept, Favor: o.Favor, Outside: o.Outside, Rate: o.Rate, Neighbours: o.Neighbours, CertFile: o.CertFile, Audit: audit, Log: o.Log, Now: time.Now, Draw: rand.Text})
	if err != nil {
		return err
	}
	token, err := s.Begin(ctx, o.Token)
	if err != nil {
		return err
	}
	l, url, err := o.listen()
	if err != nil {
		return err
	}
	if err := o.Ready(url, token); err != nil {
		return errors.Join(err, l.Close())
	}
	return s.Serve(ctx, l)
}

// takeDir keeps a second homeserver out of a directory. The file has the number of this process.
func takeDir(dir string) (*os.File, error) {
	name := filepath.Join(dir, lockFile)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if !filelock.Take(f) {
		text, err := os.ReadFile(name)
		if err != nil || len(text) == 0 {
			text = []byte("unknown")
		}
		return nil, errors.Join(&BusyError{dir, strings.TrimSpace(string(text))}, f.Close())
	}
	if err = f.Truncate(0); err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		return nil, errors.Join(err, filelock.Close(f))
	}
	return f, nil
}

// openKey reads the key by which the homeserver signs what it grants, or makes one.
func openKey(name string) (key []byte, err error) {
	key, err = os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		if key, err = home.NewKey(); err == nil {
			err = atomicfile.WriteSync(name, key, 0o600) // what it signs proves nothing without it
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the key of the homeserver: %w", err)
	}
	return key, nil
}

// open opens the store.
func (o *Options) open(ctx context.Context) (*store.Store, error) {
	kv, err := o.openKV()
	if err != nil {
		return nil, err
	}
	host, _ := os.Hostname() // without it the number of the process names the member
	s, err := store.Open(ctx, kv, store.Config{Instance: o.Home.Instance, Kind: "homeserver", Name: strings.TrimPrefix(fmt.Sprintf("%s-%d", host, os.Getpid()), "-"), Log: o.Log})
	if err != nil {
		return nil, errors.Join(err, kv.Close())
	}
	return s, nil
}

func (o *Options) openKV() (store.KV, error) {
	if len(o.Etcd) > 0 {
		return etcd.Open(o.cluster())
	}
	return bolt.Open(filepath.Join(o.Dir, treeFile))
}

// listen returns the listener, and the URL for others.
func (o *Options) listen() (net.Listener, string, error) {
	scheme := "http"
	var config *tls.Config
	if o.Certificate.Cert != "" {
		identity, err := secure.NewServer(o.Certificate)
		if err != nil {
			return nil, "", err
		}
		scheme, config = "https", identity.PageTLS()
	}
	l, err := net.Listen("tcp", o.Listen)
	if err != nil {
		return nil, "", fmt.Errorf("%w; use a free port, or 0 for any", err)
	}
	host, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return nil, "", errors.Join(err, l.Close())
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() && outward.Address() != "" {
		host = outward.Address()
	}
	if config != nil {
		l = tls.NewListener(l, config)
	}
	return l, scheme + "://" + net.JoinHostPort(host, port), nil
}
