package homeserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"metasim/federates/authority/home"
	"metasim/federates/authority/store"
	"metasim/federates/authority/tree"
	"metasim/internal/filelock"
)

// A MissingError: a directory has no tree.
type MissingError struct{ Dir string }

func (e *MissingError) Error() string {
	return "the directory " + e.Dir + " has no " + treeFile + "; name that of a homeserver, or its cluster with --etcd"
}

// Export writes the nodes of a pattern, as tree.ParsePattern reads it: lines of JSON, each of which makes a node. No homeserver may work on a tree in a file meanwhile.
func Export(ctx context.Context, o Options, w io.Writer, pattern string) (err error) {
	which, err := tree.ParsePattern(pattern)
	if err != nil {
		return &ConfigError{"--pattern", fmt.Sprintf("is no pattern: %v", err)}
	}
	if err := o.checkCopy(); err != nil {
		return err
	}
	if len(o.Etcd) == 0 {
		if _, err := os.Stat(filepath.Join(o.Dir, treeFile)); errors.Is(err, fs.ErrNotExist) {
			return &MissingError{o.Dir}
		}
	}
	return o.with(ctx, func(s *store.Store) error { return s.Export(ctx, store.Consistency, w, which) })
}

// Import does what Export wrote, and returns how many nodes were written; with an error, some may have been. What else is in the tree stays. The audit log of the directory has a line
// that says from where.
func Import(ctx context.Context, o Options, r io.Reader, from string) (done int, err error) {
	if err := o.checkCopy(); err != nil {
		return 0, err
	}
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return 0, err
	}
	err = o.with(ctx, func(s *store.Store) error {
		log, err := openAudit(filepath.Join(o.Dir, auditFile), 0, 0)
		if err != nil {
			return err
		}
		done, err = s.Import(ctx, r)
		line := home.Audit{TimeNS: time.Now().UnixNano(), Address: "local", Method: "IMPORT", Path: from, Status: 200, Outcome: "ok", Detail: fmt.Sprint(done, " nodes were written")}
		if err != nil {
			line.Status, line.Outcome, line.Detail = 400, "refused", line.Detail+": "+err.Error()
		}
		text, wrong := json.Marshal(line)
		if wrong == nil {
			_, wrong = log.Write(append(text, '\n'))
		}
		return errors.Join(err, wrong, log.Close())
	})
	return done, err
}

// checkCopy says which option is wrong.
func (o *Options) checkCopy() error {
	if o.Dir == "" && len(o.Etcd) == 0 {
		return &ConfigError{"--data", "is missing; name the directory of a homeserver, or its cluster with --etcd"}
	}
	if len(o.Etcd) > 0 {
		if _, err := o.cluster().Validate(); err != nil {
			return fmt.Errorf("--etcd: %w", err)
		}
	}
	return o.Home.Validate()
}

// with has the store to itself where it is in a file.
func (o *Options) with(ctx context.Context, do func(*store.Store) error) (err error) {
	if o.Dir != "" {
		lock, err := takeDir(o.Dir)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, filelock.Close(lock)) }()
	}
	s, err := o.open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(do(s), s.Close())
}
