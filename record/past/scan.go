package past

import (
	"errors"
	"io"
	"sync"
	"time"

	"metasim/metasim"
	"metasim/record/journal"
)

// A Source has the entries of a journal that concern one client, with that part of their effects which does.
type Source interface {
	Next() (journal.Entry, error)
	Close() error
}

// A Scan reads the journal of a run for the clients that repeat their past. When a run is resumed, many do so at the same time: these read it
// together, once. What was decoded is kept until each of them has taken its part, within a bound. Whoever is ahead waits then for those
// behind, as long as they go on; one that stands still is left to read the journal for itself, as does every client that comes later.
type Scan struct {
	dir      journal.Dir
	bound    int           // bytes that are kept
	patience time.Duration // for who stands still

	mu      sync.Mutex
	changed sync.Cond
	awaited map[metasim.ClientID]bool // clients that are to read together, and have not begun
	begun   time.Time                 // when the last of them has
	shared  *journal.Reader           // nil: nobody reads together any more
	views   map[*view]struct{}
	chunks  []*chunk
	first   int // the number of chunks[0]
	kept    int // bytes of them, about
}

// A chunk is a part of the journal, by client.
type chunk struct {
	of    map[metasim.ClientID][]item
	end   int64 // of the part, in the journal
	bytes int
}

// An item is what an entry has of one client.
type item struct {
	end int64 // of the entry
	journal.Entry
}

// A view is what one client reads.
type view struct {
	scan  *Scan
	id    metasim.ClientID
	size  int64 // of the journal, as far as it counts
	read  int64 // up to here
	chunk int   // the number of the chunk that it is in
	at    int   // the items of that which it has read
	moved time.Time
	left  bool         // it reads alone
	alone *journal.Own // nil: not yet
}

const (
	keptBytes  = 64 << 20
	chunkBytes = 1 << 20     // of the journal, in a chunk
	standsFor  = time.Second // whoever has not read for so long holds up nobody
)

// NewScan returns what reads the journal of a run. The clients of together are to repeat their past at the same time.
func NewScan(dir journal.Dir, together []metasim.ClientID) *Scan {
	s := &Scan{dir: dir, bound: keptBytes, patience: standsFor, awaited: map[metasim.ClientID]bool{}, views: map[*view]struct{}{}}
	s.changed.L = &s.mu
	for _, id := range together {
		s.awaited[id] = len(together) > 1
	}
	return s
}

// Open returns what the first bytes of the journal, up to the end of an entry, have of a client.
func (s *Scan) Open(id metasim.ClientID, size int64) (Source, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := &view{scan: s, id: id, size: size, moved: time.Now()}
	if !s.awaited[id] {
		v.left = true
		return v, nil
	}
	if s.shared == nil {
		var err error
		if s.shared, err = s.dir.OpenGrowing(); err != nil {
			return nil, err
		}
	}
	delete(s.awaited, id)
	s.begun, s.views[v] = v.moved, struct{}{}
	s.changed.Broadcast()
	return v, nil
}

// Next implements Source.
func (v *view) Next() (journal.Entry, error) {
	if e, there, err := v.together(); there || err != nil {
		return e, err
	}
	if v.alone == nil {
		var err error
		if v.alone, err = v.scan.dir.OpenOwn(v.id, v.size); err != nil {
			return journal.Entry{}, err
		}
	}
	for {
		if e, err := v.alone.Next(); err != nil || v.alone.Offset() > v.read {
			return e, err
		}
	}
}

// together returns the next entry of a client that reads with others; false if it reads alone.
func (v *view) together() (e journal.Entry, there bool, err error) {
	s := v.scan
	s.mu.Lock()
	defer s.mu.Unlock()
	v.moved = time.Now()
	for !v.left {
		switch c := s.chunk(v.chunk); {
		case v.read >= v.size:
			return journal.Entry{}, false, io.EOF
		case c == nil:
			if err := s.readOn(v.size); err != nil {
				return journal.Entry{}, false, err
			}
		case v.at < len(c.of[v.id]) && c.of[v.id][v.at].end <= v.size:
			it := &c.of[v.id][v.at]
			v.at++
			v.read = it.end
			return it.Entry, true, nil
		default:
			v.read, v.at = c.end, 0
			v.chunk++
			s.changed.Broadcast()
		}
	}
	return journal.Entry{}, false, nil
}

// Close implements Source. With the last that read together, what was kept for them is forgotten.
func (v *view) Close() error {
	s := v.scan
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.views, v)
	s.changed.Broadcast()
	var err error
	if len(s.views) == 0 && s.shared != nil {
		err = s.shared.Close()
		s.shared, s.chunks, s.awaited = nil, nil, nil
	}
	if v.alone != nil {
		err = errors.Join(err, v.alone.Close())
	}
	return err
}

// chunk returns the chunk of a number; nil: it is to be read yet.
func (s *Scan) chunk(number int) *chunk {
	if number == s.first+len(s.chunks) {
		return nil
	}
	return s.chunks[number-s.first]
}

// readOn reads a chunk, or waits until there is room for one: then another client may have read it.
func (s *Scan) readOn(size int64) error {
	for s.kept >= s.bound {
		if wait := s.behind(); wait > 0 {
			s.wait(wait)
			return nil
		}
		s.kept -= s.chunks[0].bytes
		s.chunks[0] = nil
		s.chunks = s.chunks[1:]
		s.first++
	}
	s.shared.Extend(size)
	c := &chunk{of: map[metasim.ClientID][]item{}, end: s.shared.Offset()}
	for begin := c.end; c.end-begin < chunkBytes; c.end = s.shared.Offset() {
		e, err := s.shared.Next()
		if errors.Is(err, io.EOF) && begin < c.end {
			break
		}
		if err != nil {
			return err
		}
		c.add(&e, s.shared.Offset())
	}
	s.chunks = append(s.chunks, c)
	s.kept += c.bytes
	return nil
}

// behind returns for how long to wait for those who need the first chunk; 0: they have read it, or stand still and read alone from now on.
func (s *Scan) behind() (wait time.Duration) {
	if len(s.awaited) > 0 {
		if wait = s.patience - time.Since(s.begun); wait <= 0 {
			s.awaited = nil
		}
	}
	for v := range s.views {
		if v.chunk > s.first {
			continue
		}
		if left := s.patience - time.Since(v.moved); left > 0 {
			wait = max(wait, left)
		} else {
			v.left = true
			delete(s.views, v)
		}
	}
	return wait
}

// wait waits until something has changed, for so long at most.
func (s *Scan) wait(d time.Duration) {
	timer := time.AfterFunc(d, func() {
		s.mu.Lock() // the one that waits waits by now
		defer s.mu.Unlock()
		s.changed.Broadcast()
	})
	defer timer.Stop()
	s.changed.Wait()
}

// What an item takes of memory, and what an effect, about.
const (
	itemCost   = 96
	effectCost = 160
)

// add adds an entry that ends at a byte of the journal.
func (c *chunk) add(e *journal.Entry, end int64) {
	if id, of := metasim.ClientOf(e.Event); of {
		c.item(id, end).Event = e.Event
		if send, ok := e.Event.(*metasim.Send); ok {
			c.bytes += len(send.Payload) // those of its deliveries are the same memory
		}
	}
	for _, effect := range e.Effects {
		var id metasim.ClientID
		switch effect := effect.(type) {
		case *metasim.Deliver:
			id = effect.To
		case *metasim.Authorize:
			id = effect.To
		default:
			continue
		}
		it := c.item(id, end)
		it.Effects = append(it.Effects, effect)
		c.bytes += effectCost
	}
}

// item returns what the entry that ends there has of a client.
func (c *chunk) item(id metasim.ClientID, end int64) *item {
	of := c.of[id]
	if n := len(of); n == 0 || of[n-1].end != end {
		of = append(of, item{end: end})
		c.of[id] = of
		c.bytes += itemCost
	}
	return &of[len(of)-1]
}
