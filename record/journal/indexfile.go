package journal

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"metasim/metasim"
)

// The file of an index, all integers little-endian:
//
//	8 bytes  magic "MSIMINDX"
//	u32      version: 1
//	u64      bytes of the journal
//	u32      number of clients
//	of each client:
//	  u8     1 if it left, else 0
//	  instant  how far it was authorized
//	  of its inputs, then of its outputs:
//	    u64      count
//	    u64      hash
//	    instant  of the last item: i64 time, u32 step
//	    u64      items between two checkpoints
//	    u32      number of checkpoints
//	    of each: u64 hash, instant, u64 offset
//	u32      CRC-32C of all before
const (
	indexMagic   = "MSIMINDX"
	indexVersion = 1

	checkpointSize = 8 + 12 + 8
	chainSize      = 8 + 8 + 12 + 8 + 4 // without checkpoints
)

func (x *Index) append(b []byte) []byte {
	start := len(b)
	b = append(b, indexMagic...)
	b = binary.LittleEndian.AppendUint32(b, indexVersion)
	b = binary.LittleEndian.AppendUint64(b, uint64(x.Size))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(x.Clients)))
	for i := range x.Clients {
		t := &x.Clients[i]
		left := byte(0)
		if t.Left {
			left = 1
		}
		b = t.Outputs.append(t.Inputs.append(appendFixed(append(b, left), t.Granted)))
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli))
}

func (c *Chain) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, c.Count)
	b = binary.LittleEndian.AppendUint64(b, c.Hash)
	b = appendFixed(b, c.At)
	b = binary.LittleEndian.AppendUint64(b, c.Every)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(c.Checkpoints)))
	for _, p := range c.Checkpoints {
		b = appendFixed(binary.LittleEndian.AppendUint64(b, p.Hash), p.At)
		b = binary.LittleEndian.AppendUint64(b, uint64(p.Offset))
	}
	return b
}

func appendFixed(b []byte, i metasim.Instant) []byte {
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(b, uint64(i.Time)), i.Step)
}

// errNoIndex tells that bytes are no index, or are one no longer.
var errNoIndex = errors.New("journal: this is no index")

// parseIndex reads the file of an index. Whatever is not as it should be makes it none.
func parseIndex(b []byte) (*Index, error) {
	const head = len(indexMagic) + 4 + 8 + 4
	if len(b) < head+4 || string(b[:len(indexMagic)]) != indexMagic || binary.LittleEndian.Uint32(b[len(indexMagic):]) != indexVersion {
		return nil, errNoIndex
	}
	body, sum := b[:len(b)-4], binary.LittleEndian.Uint32(b[len(b)-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return nil, errNoIndex
	}
	r := &indexReader{rest: body[len(indexMagic)+4:]}
	x := &Index{Size: int64(r.uint64())}
	n := r.count(1 + 12 + 2*chainSize)
	for range n {
		left := r.take(1)[0]
		x.Clients = append(x.Clients, Track{Left: left == 1, Granted: r.instant(), Inputs: r.chain(), Outputs: r.chain()})
		if r.bad || left > 1 {
			return nil, errNoIndex
		}
	}
	if r.bad || len(r.rest) > 0 {
		return nil, errNoIndex
	}
	return x, nil
}

// An indexReader reads what append writes. After bytes that are none it is bad, and everything it reads is zero.
type indexReader struct {
	rest []byte
	bad  bool
}

func (r *indexReader) take(n int) []byte {
	if len(r.rest) < n {
		r.bad = true
		return make([]byte, n)
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *indexReader) uint64() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }

func (r *indexReader) instant() metasim.Instant {
	t := r.uint64()
	return metasim.Instant{Time: metasim.Time(t), Step: binary.LittleEndian.Uint32(r.take(4))}
}

// count reads how many things of at least size bytes follow.
func (r *indexReader) count(size int) int {
	n := binary.LittleEndian.Uint32(r.take(4))
	if uint64(n)*uint64(size) > uint64(len(r.rest)) {
		r.bad = true
		return 0
	}
	return int(n)
}

func (r *indexReader) chain() Chain {
	c := Chain{Count: r.uint64(), Hash: r.uint64(), At: r.instant(), Every: r.uint64()}
	n := r.count(checkpointSize)
	if n > 0 {
		c.Checkpoints = make([]Checkpoint, n)
	}
	for i := range c.Checkpoints {
		c.Checkpoints[i] = Checkpoint{Hash: r.uint64(), At: r.instant(), Offset: int64(r.uint64())}
	}
	// Every is a power of two, and there is a checkpoint for every so many items.
	if c.Every < firstEvery || c.Every&(c.Every-1) != 0 || c.Count/c.Every != uint64(n) {
		r.bad = true
	}
	return c
}
