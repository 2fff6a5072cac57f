package run

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"metasim/internal/descriptors"
	"metasim/monitor"
	"metasim/record/journal"
	"metasim/wire/transport"
	"metasim/wire/transport/secure"
	"metasim/wire/transport/stream"
)

// A liveServer lets people watch and control a run while it goes on. A nil liveServer does nothing.
type liveServer struct {
	options   *Live
	log       *slog.Logger
	monitor   *monitor.Monitor
	files     []string // removed at the end: the private directory of the socket, and the file that names the socket
	endpoints []endpoint
	serving   sync.WaitGroup
}

// An endpoint is a listener, and the HTTP server on it.
type endpoint struct {
	listener net.Listener
	server   *http.Server
}

const (
	// readTimeout is how long a client of the live server may take to send its request.
	readTimeout = 10 * time.Second
	// writeTimeout is how long it may take to get and to read an answer.
	writeTimeout = time.Minute
	// shutdownTimeout is how long clients of the live server may take to read the end of the run.
	shutdownTimeout = time.Second
)

// newLiveServer listens. Requests are answered after start is called.
func newLiveServer(o *Options, m *monitor.Monitor, dir journal.Dir) (*liveServer, error) {
	s := &liveServer{options: o.Live, log: o.Log, monitor: m}
	for prefix, h := range o.Live.Pages {
		m.Serve(prefix, h)
	}
	address := monitor.Address{PID: os.Getpid()}
	if o.Live.HTTP != "" {
		url, err := s.listenHTTP(dir, o.Certificate)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("the run cannot be shown: %w", err), s.close())
		}
		address.HTTP = url
	}
	socket, err := s.listenPrivately()
	if err != nil {
		// The run itself does not need the socket: the path may be too long for one, for example.
		s.log.Warn("metasim why and ctl cannot ask this run", "cause", err)
		return s, nil
	}
	address.Socket = socket
	file := dir.File(monitor.AddressFile)
	s.files = append(s.files, file)
	if err := address.Write(file); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *liveServer) listenHTTP(dir journal.Dir, files secure.Files) (url string, err error) {
	o := s.options
	access, addr, err := monitor.AccessOf(o.HTTP)
	if err != nil {
		return "", err
	}
	if access == monitor.Outside && !o.Outside {
		return "", fmt.Errorf("other hosts could reach %s; use 127.0.0.1, or --http-outside for a page with a password and TLS", addr)
	}
	if access != monitor.Outside && o.Outside {
		s.log.Warn("--http-outside changes nothing: the page is for this host alone; to let others see it, name their network in --http, as in 0.0.0.0:8080", "http", addr)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return "", fmt.Errorf("%w; use a free port, or 0 for any", err)
	}
	token := o.Token
	if token == "" {
		token = rand.Text()
	}
	url, shown := "http://"+browserAddress(l.Addr())+"/", ""
	if access == monitor.Outside {
		identity, err := secure.NewServer(files)
		if err != nil {
			return "", errors.Join(err, l.Close())
		}
		l = tls.NewListener(l, identity.PageTLS())
		url = identity.URL("https", browserAddress(l.Addr())+"/")
		where, err := s.keepPassword(dir, token)
		if err != nil {
			return "", errors.Join(err, l.Close())
		}
		shown = url + " (the password is " + where + ")"
	} else {
		shown = url + "#token=" + token
	}
	s.add(l, access, token)
	if o.Shown != nil {
		o.Shown(shown)
	}
	return url, nil
}

// passwordFile is where the password of a page for other hosts is while the run goes on, unless the user has chosen it.
const passwordFile = "password"

// keepPassword puts the password where only the user reads it: what is printed may be kept in a log. It says where that is.
func (s *liveServer) keepPassword(dir journal.Dir, password string) (where string, err error) {
	if s.options.Token != "" {
		return "that of METASIM_HTTP_TOKEN", nil
	}
	file := dir.File(passwordFile)
	if err := os.WriteFile(file, []byte(password+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("the password of the page cannot be written: %w", err)
	}
	s.files = append(s.files, file)
	return "in " + file, nil
}

// browserAddress writes the address of a listener for a browser, possibly on another host: it replaces the address of all
// interfaces by the name of the host.
func browserAddress(addr net.Addr) string {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() {
		return addr.String()
	}
	name, err := os.Hostname()
	if err != nil {
		return addr.String()
	}
	return net.JoinHostPort(name, strconv.Itoa(tcp.Port))
}

// listenPrivately makes the socket, and returns its path. It lies in a temporary directory, as the path of a run directory
// may be too long for a socket.
func (s *liveServer) listenPrivately() (path string, err error) {
	private, err := transport.PrivateDir()
	if err != nil {
		return "", err
	}
	s.files = append(s.files, private)
	l, err := stream.ListenUnix(filepath.Join(private, "live"))
	if err != nil {
		return "", err
	}
	s.add(l, monitor.Private, "")
	return l.Addr().String(), nil
}

func (s *liveServer) add(l net.Listener, access monitor.Access, token string) {
	c := &callers{Listener: l, most: mostCallers()}
	s.endpoints = append(s.endpoints, endpoint{c, &http.Server{
		Handler: c.handler(s.monitor.Handler(access, token)), ConnContext: c.context, MaxHeaderBytes: 16 << 10,
		ReadHeaderTimeout: readTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: readTimeout,
	}})
}

// mostCallers is how many connections a live server has at most: 64, or fewer where few files may be open.
func mostCallers() int { return max(4, min(64, descriptors.Limit()/8)) }

// start begins to answer requests; close ends that. Two goroutines, which watching counts, run until ctx is done: one remembers who held up the
// others, and one reports stalls.
func (s *liveServer) start(ctx context.Context, watching *sync.WaitGroup) {
	if s == nil {
		return
	}
	for _, e := range s.endpoints {
		s.serving.Go(func() {
			if err := e.server.Serve(e.listener); !errors.Is(err, http.ErrServerClosed) {
				s.log.Warn("the run cannot be watched any more", "cause", err)
			}
		})
	}
	if s.options.Show != nil {
		s.serving.Go(func() { s.options.Show(s.monitor) })
	}
	watching.Go(func() { s.monitor.Remember(ctx) })
	if s.options.Stall > 0 && s.options.Say != nil {
		watching.Go(func() { s.monitor.WatchStall(ctx, s.options.Stall, s.options.Say) })
	}
}

// close shows the end of the run to all that watch it, and stops to serve.
func (s *liveServer) close() error {
	if s == nil {
		return nil
	}
	s.monitor.Close()
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	var errs []error
	for _, e := range s.endpoints {
		if err := e.server.Shutdown(ctx); err != nil {
			errs = append(errs, e.server.Close()) // a client of this server does not read
		}
		if err := e.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) { // open if start was not called
			errs = append(errs, err)
		}
	}
	s.serving.Wait()
	for _, file := range slices.Backward(s.files) {
		errs = append(errs, os.RemoveAll(file))
	}
	return errors.Join(errs...)
}
