package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"metasim/client"
	"metasim/delay"
	"metasim/metasim"
	"metasim/record/journal"
	"metasim/server"
	"metasim/wire"
	"metasim/wire/transport"
	"metasim/wire/transport/all"
	"metasim/wire/transport/mem"
)

// A cast is a run: who takes part, over which links, until when.
type cast struct {
	parts     []part
	links     []delay.Rule
	until     metasim.Time // 0: until all have left
	noJournal bool
	timed     bool // clients are asked how long they compute
}

// An arrangement says where the clients of a cast are.
type arrangement struct {
	transport string // mem, unix, tcp, quic
	inside    int    // how many of the first parts are in the server's process, over mem, where there are other processes
	processes int    // that the others are spread over, in blocks; 0: all are in the server's process, over transport
	packed    bool   // the clients of a process share a connection
}

func (a arrangement) params(p Params) Params {
	p["transport"] = a.transport
	if a.processes > 0 {
		p["processes"] = a.processes
	}
	if a.packed {
		p["packed"] = true
	}
	return p
}

// token is what clients show: the way of a real run.
const token = "bench"

// run plays a cast and returns what came of it. The Wall of the result is from when all had joined until the last left.
func (h *harness) run(ctx context.Context, c cast, a arrangement) (result server.Result, err error) {
	config, done, err := c.config()
	if err != nil {
		return result, err
	}
	defer func() { err = errors.Join(err, done()) }()
	crew := client.NewScheduler()
	config.After = crew.Served()
	srv, err := server.New(config)
	if err != nil {
		return result, err
	}
	inside, outside, err := listen(a)
	if err != nil {
		return result, err
	}
	var accepting sync.WaitGroup
	for _, l := range doors(inside, outside) {
		accepting.Go(func() {
			if err := srv.Accept(l); err != nil {
				srv.Fail(err)
			}
		})
	}
	if h.Profile != "" {
		stop, err := profile(filepath.Join(h.Profile, "server.pprof"))
		if err != nil {
			return result, err
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	played := make(chan error, 1)
	go func() {
		err := h.play(ctx, c.parts, a, crew, inside, outside)
		if err != nil {
			srv.Fail(err)
		}
		played <- err
	}()
	err = srv.Serve(ctx)
	err = errors.Join(err, <-played)
	accepting.Wait()
	return srv.Result(), err
}

// play puts the parts where they belong, and returns when all have ended.
func (h *harness) play(ctx context.Context, parts []part, a arrangement, crew *client.Scheduler, inside *mem.Net,
	outside *transport.Listener,
) error {
	here := door{token: token, packed: a.packed, crew: crew, dial: func(ctx context.Context) (wire.Conn, error) { return inside.Dial(ctx, "") }}
	if a.processes == 0 {
		if outside != nil {
			here.dial = func(ctx context.Context) (wire.Conn, error) { return all.Table().Dial(ctx, outside.URL()) }
			if !a.packed {
				here.crew = nil // each reads its own connection
			}
		}
		return here.perform(ctx, parts)
	}
	var all children
	var errs []error
	others := parts[a.inside:]
	for i := range a.processes {
		block, err := pack(others[i*len(others)/a.processes : (i+1)*len(others)/a.processes])
		if err == nil {
			err = h.start(ctx, &all, job{Kind: clientsJob, URL: outside.URL(), Token: token, Parts: block, Packed: a.packed})
		}
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return errors.Join(err, all.wait())
	}
	err := here.perform(ctx, parts[:a.inside])
	return errors.Join(err, all.wait())
}

func (c *cast) config() (config server.Config, done func() error, err error) {
	table, err := delay.NewTable(1, c.links)
	if err != nil {
		return config, nil, err
	}
	config = server.Config{
		Core: metasim.Config{Delays: table, Until: c.until, MaxSteps: 1 << 20}, Scenario: "bench", Token: token,
		StartTimeout: patience, Timed: c.timed,
	}
	for _, p := range c.parts {
		config.Core.Clients = append(config.Core.Clients, p.name)
	}
	done = func() error { return nil }
	if !c.noJournal {
		r, err := newRecorder(slices.Sorted(slices.Values(config.Core.Clients)))
		if err != nil {
			return config, nil, err
		}
		config.Observers, done = append(config.Observers, r), r.close
	}
	return config, done, nil
}

// A recorder writes a journal as a run of a user's does, and throws it away.
type recorder struct {
	path    string
	writer  *journal.Writer
	flushed int64
}

func newRecorder(names []string) (*recorder, error) {
	path, err := os.MkdirTemp("", "metasim-bench-")
	if err != nil {
		return nil, err
	}
	dir, err := journal.Create(filepath.Join(path, "run"))
	if err != nil {
		return nil, err
	}
	w, err := dir.NewJournal(names)
	return &recorder{path: path, writer: w}, err
}

func (r *recorder) Observe(wall int64, ev metasim.Event, effects []metasim.Effect) error {
	if err := r.writer.Observe(wall, ev, effects); err != nil || wall-r.flushed < int64(250*time.Millisecond) {
		return err
	}
	r.flushed = wall
	return r.writer.Flush()
}

func (r *recorder) close() error { return errors.Join(r.writer.Close(), os.RemoveAll(r.path)) }

// listen opens the doors of a server.
func listen(a arrangement) (inside *mem.Net, outside *transport.Listener, err error) {
	if a.transport == "mem" || a.inside > 0 {
		inside = mem.NewNet()
	}
	if a.transport != "mem" {
		outside, err = all.Table().ListenAt(a.transport, "")
	}
	return inside, outside, err
}

// doors are those of the listeners that are there.
func doors(inside *mem.Net, outside *transport.Listener) (all []wire.Listener) {
	if inside != nil {
		all = append(all, inside)
	}
	if outside != nil {
		all = append(all, outside)
	}
	return all
}

// transports are those between processes that this system has.
func transports() []string {
	return slices.DeleteFunc(all.Table().Schemes(), func(scheme string) bool { return scheme == "shm" && !sharedMemory })
}
