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

// listeners are what clients join through: from inside of this process, from outside, or both.
type listeners struct {
	inside    *mem.Net      // nil if no client runs in this process
	outside   wire.Listener // nil if no client joins from outside
	token     string
	socketDir string // the private directory of a socket; removed at the end
}

// listen listens as the options say. The token that it chooses keeps other users of this host out of the run, even on the
// loopback interface; a unix socket lies in a directory that is private to the user.
func listen(o *Options, inside, outside bool) (*listeners, error) {
	l := &listeners{token: o.Token}
	if l.token == "" && (!o.Serve || o.Transport == "tcp" || o.Transport == "quic") {
		var b [16]byte
		if _, err := rand.Read(b[:]); err != nil {
			return nil, err
		}
		l.token = hex.EncodeToString(b[:])
	}
	if inside {
		l.inside = mem.NewNet()
	}
	if !outside {
		return l, nil
	}
	if err := l.listenOutside(o); err != nil {
		return nil, errors.Join(fmt.Errorf("no clients can come in: %w", err), l.close())
	}
	return l, nil
}

func (l *listeners) listenOutside(o *Options) (err error) {
	address := o.Listen
	if address == "" {
		address = "127.0.0.1:0"
	}
	switch o.Transport {
	case "tcp":
		l.outside, err = stream.Listen("tcp://" + address)
	case "quic":
		l.outside, err = quic.Listen("quic://" + address)
	case "shm":
		if l.outside, err = l.listenPath("shm", o.Listen, shm.Listen); !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		o.Log.Warn("there is no shared memory here; the run goes over a unix socket", "cause", err)
		fallthrough
	default:
		l.outside, err = l.listenPath("unix", o.Listen, stream.Listen)
	}
	return err
}

// listenPath listens at a path; an empty path stands for one in a private temporary directory.
func (l *listeners) listenPath(scheme, path string, listen func(url string) (wire.Listener, error)) (wire.Listener, error) {
	if path == "" {
		if l.socketDir == "" {
			dir, err := os.MkdirTemp("", "metasim-")
			if err != nil {
				return nil, err
			}
			l.socketDir = dir
		}
		path = filepath.Join(l.socketDir, "s")
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	return listen(scheme + "://" + filepath.ToSlash(path))
}

// close stops listening and removes the socket. A server that has served has closed the listeners already.
func (l *listeners) close() error {
	var errs []error
	closeOne := func(one wire.Listener) {
		if err := one.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if l.inside != nil {
		closeOne(l.inside)
	}
	if l.outside != nil {
		closeOne(l.outside)
	}
	if l.socketDir != "" {
		errs = append(errs, os.RemoveAll(l.socketDir))
	}
	return errors.Join(errs...)
}
