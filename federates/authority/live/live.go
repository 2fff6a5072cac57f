// Package live is a simulation server as a program of its own: the machine of package transfer, outside of a run. Servers say to each other over QUIC what
// clients of a run say over the dispatcher; each message is a stream.
//
// What a server must not forget is written down before what it says is sent. So a server that is killed, whenever, and started again owns nothing that
// it has handed over, and hands over what it has promised.
package live

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"metasim/federates/authority/transfer"
	"metasim/internal/atomicfile"
	"metasim/internal/filelock"
	"metasim/metasim"
	"metasim/wire/transport/quic"
	"metasim/wire/transport/secure"
)

// Config says what a server is.
type Config struct {
	Name   string
	Listen string            // host:port; port 0: a free one
	Data   string            // a directory, which is made: what must not be forgotten
	Token  string            // that all servers of a world know
	Peers  map[string]string // the other servers: a URL as Ready is called with, or a file that holds it, which is read before each connection
	Own    []string          // what it owns at the beginning, where Data has nothing
	Step   metasim.Time      // of the simulation; above 0
	Retry  metasim.Time      // after which it says again what has not been answered; above 0
}

// A ConfigError says what of a Config makes no sense.
type ConfigError struct{ Field, Why string }

func (e *ConfigError) Error() string { return e.Field + " " + e.Why }

// Validate says what makes no sense.
func (c *Config) Validate() error {
	switch {
	case c.Name == "" || len(c.Name) > maxName:
		return &ConfigError{"the name", fmt.Sprintf("has %d bytes; write 1 to %d", len(c.Name), maxName)}
	case c.Data == "":
		return &ConfigError{"the directory", "is not named; name one, in which the server keeps what it owns"}
	case c.Token == "":
		return &ConfigError{"the token", "is empty; write one that all servers of the world know"}
	case c.Peers[c.Name] != "":
		return &ConfigError{"the peers", "have the server itself; name the others"}
	case c.Step <= 0 || c.Retry <= 0:
		return &ConfigError{"Step or Retry", "is not above 0; write a time"}
	}
	return nil
}

// maxName is the longest name of a server: one byte says how long it is.
const maxName = 255

// A Command is what a person tells a server to do.
type Command struct {
	Give, To string // an entity, and to whom; empty: say what the server owns, and what it has heard of others
}

// An Event is what happened at a server.
type Event struct {
	Event  string            `json:"event"` // ready, owns (in the beginning, or asked), got, gave, wrong
	URL    string            `json:"url,omitempty"`
	Entity string            `json:"entity,omitempty"`
	Epoch  transfer.Sequence `json:"epoch"`
	Owns   []string          `json:"owns,omitempty"`
	Sees   map[string]Sight  `json:"sees,omitempty"` // what others own, by entity, as they said last
	Error  string            `json:"error,omitempty"`
}

// A kept is the file of a server.
type kept struct {
	Origin int64          `json:"origin"` // when its time began: ns since 1970
	Cert   []byte         `json:"cert"`   // with its key, so that others find the server again
	State  transfer.Saved `json:"state"`
}

// A server is a running one.
type server struct {
	cfg     Config
	kept    kept
	sim     *transfer.Simserver
	out     map[string]*mailer
	tell    func(Event)
	seen    map[string]Sight
	written []byte    // what the file holds
	told    time.Time // when others were told last of what it owns
	effects int
	given   int
}

// Run runs a server until ctx ends. Commands are carried out in order; tell is called with each event, on this goroutine.
func Run(ctx context.Context, cfg Config, commands <-chan Command, tell func(Event)) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	s := &server{cfg: cfg, out: map[string]*mailer{}, seen: map[string]Sight{}, tell: tell}
	lock, err := s.lock()
	if err != nil {
		return err
	}
	cert, err := s.open()
	if err == nil {
		err = s.run(ctx, cert, commands)
	}
	return errors.Join(err, filelock.Close(lock))
}

func (s *server) run(ctx context.Context, cert *secure.Server, commands <-chan Command) error {
	if err := cert.Admit(true, s.cfg.Token); err != nil {
		return err
	}
	office, err := quic.ListenPost("quic://"+s.cfg.Listen, cert)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	received := make(chan []byte, 64)
	ended := make(chan error, 1)
	go func() {
		ended <- office.Receive(ctx, func(b []byte) {
			select {
			case received <- b:
			case <-ctx.Done():
			}
		})
	}()
	for name, at := range s.cfg.Peers {
		s.out[name] = newMailer(ctx, at, s.cfg.Token)
	}
	s.tell(Event{Event: "ready", URL: office.URL()})
	s.tell(Event{Event: "owns", Owns: s.sim.Held()})
	err = s.serve(ctx, received, commands, ended)
	cancel()
	return err
}

// serve is the main loop: one thing after the other, and what it leads to is written down before it is said.
func (s *server) serve(ctx context.Context, received <-chan []byte, commands <-chan Command, ended chan error) error {
	timer := time.NewTimer(0)
	for {
		var out []transfer.Envelope
		select {
		case <-ctx.Done():
			return <-ended
		case err := <-ended:
			return err
		case b := <-received:
			out = s.receive(b)
		case c, open := <-commands:
			if !open {
				commands = nil
				continue
			}
			out = s.command(c)
		case <-timer.C:
			out = s.sim.Tick(s.now().Time)
		}
		if err := s.save(); err != nil {
			return err
		}
		s.report()
		for _, e := range out {
			s.send(&e)
		}
		s.tellOthers()
		timer.Reset(time.Duration(min(s.sim.Wake().Add(-s.now().Time), metasim.Time(tellEvery))))
	}
}

// tellEvery is how often a server tells the others what it owns.
const tellEvery = 500 * time.Millisecond

// tells returns what a server tells of itself.
func (s *server) tells() (all []told) {
	for _, e := range s.sim.Held() {
		all = append(all, told{e, s.sim.Epoch(e), s.sim.State(e, s.now().Time).Steps})
	}
	return all
}

// tellOthers tells the others what the server owns, in datagrams, if that is due.
func (s *server) tellOthers() {
	if time.Since(s.told) < tellEvery {
		return
	}
	s.told = time.Now()
	for _, b := range sightings(s.tells()) {
		for _, to := range s.out {
			to.post(letter{pack(s.cfg.Name, b), true})
		}
	}
}

func (s *server) now() metasim.Instant {
	return metasim.At(metasim.Time(max(time.Now().UnixNano()-s.kept.Origin, 0)))
}

func (s *server) receive(b []byte) []transfer.Envelope {
	from, text, err := unpack(b)
	if err == nil && len(text) > 0 && text[0] == sightsDatagram {
		var all []told
		all, err = readSightings(from, text)
		for _, t := range all {
			see(s.seen, from, t)
		}
		if err == nil {
			return nil
		}
	}
	var m transfer.Message
	if err == nil {
		m, err = transfer.Decode(text)
	}
	var out []transfer.Envelope
	if err == nil {
		out, err = s.sim.Receive(s.now(), from, m)
	}
	if err != nil {
		s.tell(Event{Event: "wrong", Error: err.Error()})
	}
	return out
}

func (s *server) command(c Command) []transfer.Envelope {
	if c.Give == "" {
		sees := maps.Clone(s.seen)
		maps.DeleteFunc(sees, func(entity string, _ Sight) bool { return s.sim.Owns(entity) })
		s.tell(Event{Event: "owns", Owns: s.sim.Held(), Sees: sees})
		return nil
	}
	if s.out[c.To] == nil {
		s.tell(Event{Event: "wrong", Entity: c.Give, Error: fmt.Sprintf("%q is no peer of %s; name it with where it is", c.To, s.cfg.Name)})
		return nil
	}
	out, err := s.sim.Give(s.now().Time, c.Give, c.To)
	if err != nil {
		s.tell(Event{Event: "wrong", Entity: c.Give, Error: err.Error()})
	}
	return out
}

// report tells what came and went.
func (s *server) report() {
	for _, e := range s.sim.Effects[s.effects:] {
		s.tell(Event{Event: "got", Entity: e.Entity, Epoch: e.Epoch})
	}
	for _, entity := range s.sim.Given[s.given:] {
		s.tell(Event{Event: "gave", Entity: entity})
	}
	s.effects, s.given = len(s.sim.Effects), len(s.sim.Given)
}

func (s *server) send(e *transfer.Envelope) {
	text, err := transfer.Encode(&e.Message)
	to := s.out[e.To]
	switch {
	case err != nil:
		s.tell(Event{Event: "wrong", Error: err.Error()})
	case to == nil:
		s.tell(Event{Event: "wrong", Entity: e.Message.Entity, Error: e.To + " is no peer; name it with where it is"})
	default:
		to.post(letter{pack(s.cfg.Name, text), false})
	}
}

// open reads what the server must not forget, or begins.
func (s *server) open() (cert *secure.Server, err error) {
	sim := transfer.SimConfig{Name: s.cfg.Name, Step: s.cfg.Step, Retry: s.cfg.Retry}
	text, err := os.ReadFile(s.file())
	if errors.Is(err, fs.ErrNotExist) {
		s.sim = transfer.NewSimserver(sim)
		for _, e := range s.cfg.Own {
			s.sim.Own(e)
		}
		if cert, err = secure.NewServer(secure.Files{}); err != nil {
			return nil, err
		}
		s.kept.Origin = time.Now().UnixNano()
		if s.kept.Cert, err = cert.Made(); err != nil {
			return nil, err
		}
		return cert, s.save()
	}
	if err == nil {
		err = json.Unmarshal(text, &s.kept)
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w; name another directory, and the server begins with nothing", s.file(), err)
	}
	s.sim = transfer.Restore(sim, &s.kept.State)
	return secure.Again(s.kept.Cert)
}

func (s *server) file() string { return filepath.Join(s.cfg.Data, s.cfg.Name+".json") }

func (s *server) save() error {
	s.kept.State = s.sim.Save()
	text, err := json.Marshal(&s.kept)
	if err != nil || bytes.Equal(text, s.written) {
		return err
	}
	f, err := atomicfile.Create(s.file(), 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Write(text); err == nil {
		err = f.Sync() // the machine may crash too
	}
	if err != nil {
		return errors.Join(err, f.Discard())
	}
	s.written = text
	return f.Commit()
}

// A BusyError: another process works with the directory.
type BusyError struct{ Path string }

func (e *BusyError) Error() string {
	return e.Path + " belongs to a server that is running; end it, or name another directory"
}

// lock keeps a second process from owning the same.
func (s *server) lock() (*os.File, error) {
	if err := os.MkdirAll(s.cfg.Data, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(s.file()+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil && !filelock.Take(f) {
		err = errors.Join(&BusyError{s.cfg.Data}, f.Close())
	}
	return f, err
}

// pack puts the sender's name before a message.
func pack(from string, text []byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(len(from)))
	return append(append(b, from...), text...)
}

// An UnnamedError: what came has no sender.
type UnnamedError struct{ Bytes int }

func (e *UnnamedError) Error() string {
	return fmt.Sprintf("%d bytes came without the name of a sender", e.Bytes)
}

func unpack(b []byte) (from string, text []byte, err error) {
	if len(b) < 2 || len(b)-2 < int(binary.BigEndian.Uint16(b)) {
		return "", nil, &UnnamedError{len(b)}
	}
	n := int(binary.BigEndian.Uint16(b))
	return string(b[2 : 2+n]), b[2+n:], nil
}
