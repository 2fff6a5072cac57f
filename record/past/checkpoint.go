package past

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"metasim/internal/atomicfile"
	"metasim/metasim"
	"metasim/record/journal"
	"metasim/wire/session"
)

// Checkpoints are those of the clients of one run, in the directory "checkpoints" of the run: the last two of each client.
type Checkpoints struct {
	dir journal.Dir
	run int64

	mu      sync.Mutex
	numbers map[metasim.ClientID]uint64 // of the newest of each client, where it is known
}

const keptCheckpoints = 2

// NewCheckpoints returns those of a run, which need not have any.
func NewCheckpoints(dir journal.Dir, m *journal.Manifest) *Checkpoints {
	return &Checkpoints{dir: dir, run: m.Started.UnixNano(), numbers: map[metasim.ClientID]uint64{}}
}

func (c *Checkpoints) path(id metasim.ClientID, slot uint64) string {
	return filepath.Join(c.dir.File("checkpoints"), fmt.Sprintf("%d-%d", id, slot))
}

// Keep writes a checkpoint of a client, over the older one of the last two. The journal has so many bytes before it, and they have been written. It
// waits for the disk. One goroutine at a time calls it for a client.
func (c *Checkpoints) Keep(id metasim.ClientID, size int64, saved *session.Saved) error {
	k := Kept{Run: c.run, Client: id, Number: c.next(id, size), Size: size, Saved: *saved}
	b, err := k.Append(nil)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.dir.File("checkpoints"), 0o700); err != nil {
		return fmt.Errorf("keeping a checkpoint: %w", err)
	}
	f, err := atomicfile.Create(c.path(id, k.Number%keptCheckpoints), 0o600)
	if err != nil {
		return fmt.Errorf("keeping a checkpoint: %w", err)
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = f.Commit()
	}
	if err := errors.Join(err, f.Discard()); err != nil { // after Commit there is nothing to discard
		return fmt.Errorf("keeping a checkpoint: %w", err)
	}
	return nil
}

// next returns the number of the next checkpoint of a client.
func (c *Checkpoints) next(id metasim.ClientID, size int64) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	number, known := c.numbers[id]
	if !known {
		for _, k := range c.Last(id, size, func(error) {}) { // the past has told of those that do not fit
			number = max(number, k.Number)
		}
	}
	c.numbers[id] = number + 1
	return number + 1
}

// Last returns the checkpoints of a client that a journal of this size does not lack, the newest first. It tells unfit of files that are no
// checkpoints of the client.
func (c *Checkpoints) Last(id metasim.ClientID, size int64, unfit func(error)) (all []*Kept) {
	for slot := range uint64(keptCheckpoints) {
		path := c.path(id, slot)
		k, err := c.read(path, id)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			unfit(fmt.Errorf("%s is not used: %w", path, err))
		case k.Size <= size:
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b *Kept) int { return cmp.Compare(b.Number, a.Number) })
	return all
}

// Forget removes the checkpoints of all clients but those that a journal of this size does not lack: the run goes on from there in another order, and
// its journal is soon as long again.
func (c *Checkpoints) Forget(clients int, size int64) error {
	for id := range metasim.ClientID(clients) {
		for slot := range uint64(keptCheckpoints) {
			path := c.path(id, slot)
			k, err := c.read(path, id)
			if errors.Is(err, fs.ErrNotExist) || err == nil && k.Size <= size {
				continue
			}
			if err := os.Remove(path); err != nil {
				return fmt.Errorf("a checkpoint that the journal lacks cannot be removed: %w", err)
			}
		}
	}
	dir, err := os.Open(c.dir.File("checkpoints"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Remove removes all of them: the run has ended.
func (c *Checkpoints) Remove() error { return os.RemoveAll(c.dir.File("checkpoints")) }

// read reads a file.
func (c *Checkpoints) read(path string, id metasim.ClientID) (*Kept, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	k, err := Parse(b)
	switch {
	case err != nil:
		return nil, err
	case k.Run != c.run:
		return nil, errors.New("it is a checkpoint of another run")
	case k.Client != id:
		return nil, fmt.Errorf("it is the checkpoint of client %d", k.Client)
	}
	return k, nil
}
