package live

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"metasim/federates/authority/transfer"
	"metasim/internal/atomicfile"
	"metasim/internal/filelock"
	"metasim/metasim"
	"metasim/wire/transport/secure"
)

// open reads what the server must not forget, or begins.
func (s *server) open() (cert *secure.Server, err error) {
	sim := transfer.SimConfig{Name: s.cfg.Name, Step: s.cfg.Step, Retry: s.cfg.Retry, Master: s.cfg.Master}
	if s.cfg.Home != nil {
		sim.Home = s.cfg.Home.Name
	}
	text, err := os.ReadFile(s.file())
	if errors.Is(err, fs.ErrNotExist) {
		s.sim = transfer.NewSimserver(sim)
		s.sim.CountFrom(uint64(time.Now().UnixMicro())) // its directory may have been lost
		if cert, err = secure.NewServer(secure.Files{}); err != nil {
			return nil, err
		}
		if s.kept.Cert, err = cert.Made(); err != nil {
			return nil, err
		}
		if s.world, err = newWorld(&s.cfg, s.sim); err != nil {
			return nil, err
		}
		if s.cfg.Home == nil { // else the homeserver says what it may own
			for _, e := range s.brings() {
				s.begin(e, 0)
			}
			s.effects = len(s.sim.Effects)
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
	if s.world, err = newWorld(&s.cfg, s.sim); err != nil {
		return nil, err
	}
	s.resume()
	return secure.Again(s.kept.Cert)
}

// brings are the entities that the server owns at the beginning.
func (s *server) brings() []string {
	if s.world == nil {
		return s.cfg.Own
	}
	return append(slices.Clone(s.cfg.Own), s.world.names...)
}

func (s *server) file() string { return filepath.Join(s.cfg.Data, s.cfg.Name+".json") }

// saveEvery is how often states are written down although nothing else has changed. They follow from older ones, but for what touches have changed.
const saveEvery = time.Second

// rights is what is kept, without the states: of them alone nothing is written.
func (k *kept) rights() *kept {
	r := &kept{State: k.State, World: slices.Clone(k.World)}
	r.State.Held = map[string]transfer.State{}
	for entity := range k.State.Held {
		r.State.Held[entity] = transfer.State{}
	}
	for i := range r.World {
		r.World[i].State = nil
	}
	return r
}

// save writes down what must not be forgotten, if there is more of that.
func (s *server) save() error {
	s.kept.State, s.kept.World = s.sim.Save(), s.world.save()
	key, err := json.Marshal(s.kept.rights())
	if err != nil || bytes.Equal(key, s.written) && time.Since(s.writtenAt) < saveEvery {
		return err
	}
	text, err := json.Marshal(&s.kept)
	if err != nil {
		return err
	}
	s.written, s.writtenAt = key, time.Now()
	return atomicfile.WriteSync(s.file(), text, 0o600) // the machine may crash too
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

// begin has the server own what it brings, from now on. What it knows already begins only where it was removed from its homeserver, and entered again: the epoch is a later one then.
func (s *server) begin(entity string, epoch transfer.Sequence) {
	if last, known := s.sim.Save().Known[entity]; known && !epoch.NewerThan(last) {
		return // it had it before
	}
	now := s.now()
	s.sim.OwnSince(entity, epoch)
	s.sim.Set(entity, transfer.State{Steps: uint64(now.Time / s.cfg.Step), Body: s.world.body(entity)})
	s.sim.Effects = append(s.sim.Effects, transfer.Effective{Entity: entity, Epoch: epoch, At: now})
}

// resume has the world know what the server owns already.
func (s *server) resume() {
	state := s.sim.Save()
	for _, entity := range slices.Sorted(maps.Keys(state.Held)) {
		s.sim.Effects = append(s.sim.Effects, transfer.Effective{Entity: entity, Epoch: state.Known[entity], At: s.now()})
	}
	s.effects = len(s.sim.Effects)
	s.world.restore(s.now().Time, s.kept.World)
}

func (s *server) now() metasim.Instant {
	return metasim.At(metasim.Time(max(time.Now().UnixNano()-s.kept.Origin, 0)))
}
