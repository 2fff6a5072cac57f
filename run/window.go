package run

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"metasim/monitor"
	"metasim/wire/transport/stream"
)

// Live says how a run can be watched, and told what to do, while it goes on. There is always a private socket, which the
// run directory names.
type Live struct {
	// HTTP is an address to serve a page at: host:port, or :port for this host alone. Empty: none.
	HTTP string
	// Outside lets HTTP be an address that other hosts reach. They must show the token; nothing is encrypted.
	Outside bool
	// Token is what commands over HTTP must show. Empty: a random one.
	Token string
	// Shown is called with the address of the page, token and all. May be nil.
	Shown func(url string)
	// Stall is after how long without a word from any client it is said why; 0: never. Say is told; it may be called by
	// another goroutine.
	Stall time.Duration
	Say   func(text string)
	// Show is called, in a goroutine of its own, to show the run until the monitor's view is over. May be nil.
	Show func(m *monitor.Monitor)
}

// A window is where a run is watched through. A nil one is shut.
type window struct {
	options  *Live
	monitor  *monitor.Monitor
	dir      string // the private directory of the socket, to be removed
	note     string // the file that says where the socket is, likewise
	panes    []pane
	shutting sync.WaitGroup
	failed   func(error)
}

// A pane is one listener.
type pane struct {
	listener net.Listener
	server   *http.Server
}

// openWindow listens; nobody is served before open.
func (c *conductor) openWindow() (*window, error) {
	o := c.options.Live
	if o == nil {
		return nil, nil
	}
	w := &window{options: o, monitor: monitor.NewMonitor(c.server, monitor.Config{Process: c.home, Words: Sentence})}
	w.failed = func(err error) { c.options.Log.Warn("the run cannot be watched any more", "cause", err) }
	address := monitor.Address{PID: os.Getpid()}
	if o.HTTP != "" {
		url, err := w.listenHTTP(o)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("the run cannot be shown: %w", err), w.close())
		}
		address.HTTP = url
	}
	if err := w.listenPrivately(); err != nil {
		// A run that cannot be asked is still a run: the path may be too long for a socket, say.
		c.options.Log.Warn("metasim why and ctl cannot ask this run", "cause", err)
		return w, nil
	}
	address.Socket = w.panes[len(w.panes)-1].listener.Addr().String()
	w.note = c.dir.File(monitor.AddressFile)
	if err := address.Write(w.note); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *window) listenHTTP(o *Live) (url string, err error) {
	access, addr, err := monitor.AccessOf(o.HTTP)
	if err != nil {
		return "", err
	}
	if access == monitor.Outside && !o.Outside {
		return "", fmt.Errorf("other hosts could reach %s, and what passes there is not encrypted; use 127.0.0.1, or --http-outside if that is what you want", addr)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return "", fmt.Errorf("%w; use a free port, or 0 for any", err)
	}
	token := o.Token
	if token == "" {
		token = rand.Text()
	}
	w.add(l, access, token)
	url = "http://" + reachable(l.Addr()) + "/"
	if o.Shown != nil {
		o.Shown(url + "#token=" + token)
	}
	return url, nil
}

// reachable is how an address that is listened at is written in a browser: that of all interfaces is by the host's name.
func reachable(addr net.Addr) string {
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

// listenPrivately makes the socket, in a directory of its own: a run directory may lie too deep for one.
func (w *window) listenPrivately() error {
	dir, err := os.MkdirTemp("", "metasim-")
	if err != nil {
		return err
	}
	w.dir = dir
	l, err := stream.ListenUnix(filepath.Join(dir, "live"))
	if err != nil {
		return err
	}
	w.add(l, monitor.Private, "")
	return nil
}

// headTime is how long somebody may take to say what he wants.
const headTime = 10 * time.Second

func (w *window) add(l net.Listener, access monitor.Access, token string) {
	s := &http.Server{Handler: w.monitor.Handler(access, token), ReadHeaderTimeout: headTime, ReadTimeout: headTime, MaxHeaderBytes: 16 << 10}
	w.panes = append(w.panes, pane{l, s})
}

// open serves those who look in, and watches whether the run stalls, until close.
func (w *window) open(ctx context.Context, work *sync.WaitGroup) {
	if w == nil {
		return
	}
	for _, p := range w.panes {
		w.shutting.Go(func() {
			if err := p.server.Serve(p.listener); !errors.Is(err, http.ErrServerClosed) {
				w.failed(err)
			}
		})
	}
	if w.options.Show != nil {
		w.shutting.Go(func() { w.options.Show(w.monitor) })
	}
	if w.options.Stall > 0 && w.options.Say != nil {
		work.Go(func() { w.monitor.WatchStall(ctx, w.options.Stall, w.options.Say) })
	}
}

// lastLook is how long those who look on may take to see the end.
const lastLook = time.Second

// close shows those who look on the end of the run, and shuts the window.
func (w *window) close() error {
	if w == nil {
		return nil
	}
	w.monitor.Close()
	ctx, cancel := context.WithTimeout(context.Background(), lastLook)
	defer cancel()
	var errs []error
	for _, p := range w.panes {
		if err := p.server.Shutdown(ctx); err != nil {
			errs = append(errs, p.server.Close()) // somebody does not read
		}
		if err := p.listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) { // of one that was not served yet
			errs = append(errs, err)
		}
	}
	w.shutting.Wait()
	if w.note != "" {
		errs = append(errs, os.Remove(w.note))
	}
	if w.dir != "" {
		errs = append(errs, os.RemoveAll(w.dir))
	}
	return errors.Join(errs...)
}

// home says where a client lives.
func (c *conductor) home(name string) monitor.Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.homes[name]; p != nil {
		return monitor.Process{PID: p.cmd.Process.Pid, Said: p.said}
	}
	return monitor.Process{Inside: c.fates[name] != nil, Outside: c.guests[name]}
}
