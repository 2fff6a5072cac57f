package run

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"metasim/wire"
	"metasim/wire/transport/mem"
	"metasim/wire/transport/quic"
	"metasim/wire/transport/shm"
	"metasim/wire/transport/stream"
)

// An entrance is where clients come in: from inside the process, from outside, or both.
type entrance struct {
	inside  *mem.Net      // nil where no client lives in this process
	outside wire.Listener // nil where none comes from outside
	token   string
	dir     string // the private directory of the socket, to be removed
}

// open listens as the options say. The token it chooses keeps others out of a run even on the loopback interface; a
// unix socket lies in a directory that is private to the user.
func open(o Options, inside, outside bool) (*entrance, error) {
	e := &entrance{token: o.Token}
	if e.token == "" && (!o.Serve || o.Transport == "tcp" || o.Transport == "quic") {
		var b [16]byte
		if _, err := rand.Read(b[:]); err != nil {
			return nil, err
		}
		e.token = hex.EncodeToString(b[:])
	}
	if inside {
		e.inside = mem.NewNet()
	}
	if !outside {
		return e, nil
	}
	if err := e.listen(o); err != nil {
		return nil, errors.Join(fmt.Errorf("no clients can come in: %w", err), e.close())
	}
	return e, nil
}

func (e *entrance) listen(o Options) (err error) {
	const loopback = "127.0.0.1:0"
	switch o.Transport {
	case "tcp":
		e.outside, err = stream.Listen("tcp://" + or(o.Listen, loopback))
	case "quic":
		e.outside, err = quic.Listen("quic://" + or(o.Listen, loopback))
	case "shm":
		if e.outside, err = e.listenPath("shm", o.Listen, shm.Listen); !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		o.Log.Warn("there is no shared memory here; the run goes over a unix socket", "cause", err)
		fallthrough
	default:
		e.outside, err = e.listenPath("unix", o.Listen, stream.Listen)
	}
	return err
}

// listenPath listens at a path, or in a private temporary directory.
func (e *entrance) listenPath(scheme, path string, listen func(url string) (wire.Listener, error)) (wire.Listener, error) {
	if path == "" {
		if e.dir == "" {
			dir, err := os.MkdirTemp("", "metasim-")
			if err != nil {
				return nil, err
			}
			e.dir = dir
		}
		path = filepath.Join(e.dir, "s")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	return listen(scheme + "://" + filepath.ToSlash(path))
}

// close stops listening and removes what was left on disk. The server has closed the listeners already, if it served.
func (e *entrance) close() error {
	var errs []error
	closeOne := func(l wire.Listener) {
		if err := l.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if e.inside != nil {
		closeOne(e.inside)
	}
	if e.outside != nil {
		closeOne(e.outside)
	}
	if e.dir != "" {
		errs = append(errs, os.RemoveAll(e.dir))
	}
	return errors.Join(errs...)
}

func or(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}
