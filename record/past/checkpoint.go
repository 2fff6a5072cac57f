package past

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"metasim/metasim"
	"metasim/wire/session"
)

// Checkpoints are those of the clients of one run: the last two of each client.
type Checkpoints struct {
	files Files
	run   int64

	mu      sync.Mutex
	numbers map[metasim.ClientID]uint64 // of the newest of each client, where it is known
}

const keptCheckpoints = 2

// NewCheckpoints returns those of the run that began at this time, in nanoseconds since 1970. It need not have any.
func NewCheckpoints(files Files, began int64) *Checkpoints {
	return &Checkpoints{files: files, run: began, numbers: map[metasim.ClientID]uint64{}}
}

func name(id metasim.ClientID, slot uint64) string { return fmt.Sprintf("%d-%d", id, slot) }

// Keep writes a checkpoint of a client, over the older one of the last two. The journal has so many bytes before it, and they have been written. It
// waits for the disk. One goroutine at a time calls it for a client.
func (c *Checkpoints) Keep(id metasim.ClientID, size int64, saved *session.Saved) error {
	k := Kept{Run: c.run, Client: id, Number: c.next(id, size), Size: size, Saved: *saved}
	b, err := k.Append(nil)
	if err != nil {
		return err
	}
	if err := c.files.Write(name(id, k.Number%keptCheckpoints), b); err != nil {
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
		k, err := c.read(name(id, slot), id)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			unfit(fmt.Errorf("checkpoints/%s is not used: %w", name(id, slot), err))
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
			file := name(id, slot)
			k, err := c.read(file, id)
			if errors.Is(err, fs.ErrNotExist) || err == nil && k.Size <= size {
				continue
			}
			if err := c.files.Remove(file); err != nil {
				return fmt.Errorf("a checkpoint that the journal lacks cannot be removed: %w", err)
			}
		}
	}
	return c.files.Sync()
}

// read reads a file.
func (c *Checkpoints) read(file string, id metasim.ClientID) (*Kept, error) {
	b, err := c.files.Read(file)
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
