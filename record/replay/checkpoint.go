package replay

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"metasim/internal/atomicfile"
	"metasim/metasim"
	"metasim/record/journal"
	"metasim/wire"
	"metasim/wire/session"
)

// Checkpoints are those of the clients of one run, in the directory "checkpoints" of the run: the last two of each client.
//
// A file, all integers little-endian:
//
//	8 bytes  magic "MSIMCKPT"
//	u32      version: 1
//	i64      when the run began, in nanoseconds since 1970: that of its manifest
//	u32      the client
//	u64      the number of the checkpoint, from 1
//	i64      bytes of the journal that came before it
//	u64      messages that the client had sent
//	u64      their hash, as in the sends digest
//	frame    the Checkpoint, as it travels
//	u32      CRC-32C of all before
type Checkpoints struct {
	dir journal.Dir
	run int64

	mu      sync.Mutex
	numbers map[metasim.ClientID]uint64 // of the newest of each client, where it is known
}

// kept is a checkpoint in a file.
type kept struct {
	number uint64
	size   int64 // of the journal
	saved  session.Saved
}

const (
	checkpointMagic   = "MSIMCKPT"
	checkpointVersion = 1
	checkpointHeader  = len(checkpointMagic) + 4 + 8 + 4 + 8 + 8 + 8 + 8
	keptCheckpoints   = 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

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
	number := c.next(id, size)
	b := append([]byte(checkpointMagic), 0, 0, 0, 0)
	binary.LittleEndian.PutUint32(b[len(checkpointMagic):], checkpointVersion)
	b = binary.LittleEndian.AppendUint64(b, uint64(c.run))
	b = binary.LittleEndian.AppendUint32(b, uint32(id))
	for _, v := range []uint64{number, uint64(size), saved.Sent, saved.Sends} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	b, err := new(wire.Encoder).AppendFrames(b, []wire.Packet{{Body: saved.Checkpoint}})
	if err != nil {
		return err
	}
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	if err := os.MkdirAll(c.dir.File("checkpoints"), 0o700); err != nil {
		return fmt.Errorf("keeping a checkpoint: %w", err)
	}
	f, err := atomicfile.Create(c.path(id, number%keptCheckpoints), 0o600)
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
		for _, k := range c.last(id, size, func(error) {}) { // the past has told of those that do not fit
			number = max(number, k.number)
		}
	}
	c.numbers[id] = number + 1
	return number + 1
}

// last returns the checkpoints of a client that a journal of this size does not lack, the newest first. It tells unfit of files that are no
// checkpoints of the client.
func (c *Checkpoints) last(id metasim.ClientID, size int64, unfit func(error)) (all []*kept) {
	for slot := range uint64(keptCheckpoints) {
		path := c.path(id, slot)
		k, err := c.read(path, id)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			unfit(fmt.Errorf("%s is not used: %w", path, err))
		case k.size <= size:
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b *kept) int { return int(b.number) - int(a.number) })
	return all
}

// Forget removes the checkpoints of all clients but those that a journal of this size does not lack: the run goes on from there in another order, and
// its journal is soon as long again.
func (c *Checkpoints) Forget(clients int, size int64) error {
	for id := range metasim.ClientID(clients) {
		for slot := range uint64(keptCheckpoints) {
			path := c.path(id, slot)
			k, err := c.read(path, id)
			if errors.Is(err, fs.ErrNotExist) || err == nil && k.size <= size {
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
func (c *Checkpoints) read(path string, id metasim.ClientID) (*kept, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	end := len(b) - 4
	if len(b) < checkpointHeader+4 || string(b[:len(checkpointMagic)]) != checkpointMagic {
		return nil, errors.New("it is no checkpoint")
	}
	head := b[len(checkpointMagic):]
	if v := binary.LittleEndian.Uint32(head); v != checkpointVersion {
		return nil, fmt.Errorf("it is a checkpoint of version %d, and this metasim knows %d", v, checkpointVersion)
	}
	if crc32.Checksum(b[:end], castagnoli) != binary.LittleEndian.Uint32(b[end:]) {
		return nil, errors.New("its checksum is wrong: it is damaged, or was not written to its end")
	}
	if run := int64(binary.LittleEndian.Uint64(head[4:])); run != c.run {
		return nil, errors.New("it is a checkpoint of another run")
	}
	if of := binary.LittleEndian.Uint32(head[12:]); of != uint32(id) {
		return nil, errors.New("it is the checkpoint of client " + strconv.Itoa(int(of)))
	}
	k := &kept{number: binary.LittleEndian.Uint64(head[16:]), size: int64(binary.LittleEndian.Uint64(head[24:]))}
	k.saved.Sent, k.saved.Sends = binary.LittleEndian.Uint64(head[32:]), binary.LittleEndian.Uint64(head[40:])
	frame := b[checkpointHeader:end]
	if len(frame) < 4 || int(binary.LittleEndian.Uint32(frame)) != len(frame)-4 {
		return nil, errors.New("it has no frame")
	}
	packets, err := new(wire.Decoder).Packets(frame[4:])
	if err != nil {
		return nil, err
	}
	saved, ok := packets[0].Body.(wire.Checkpoint)
	if !ok || len(packets) != 1 {
		return nil, errors.New("it holds something else")
	}
	k.saved.Checkpoint = saved
	return k, nil
}
