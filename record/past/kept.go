package past

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"metasim/metasim"
	"metasim/wire"
	"metasim/wire/session"
)

// A Kept is a checkpoint in a file. All integers of the file are little-endian:
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
type Kept struct {
	Run    int64
	Client metasim.ClientID
	Number uint64
	Size   int64
	Saved  session.Saved
}

const (
	checkpointMagic   = "MSIMCKPT"
	checkpointVersion = 1
	checkpointHeader  = len(checkpointMagic) + 4 + 8 + 4 + 8 + 8 + 8 + 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Append appends the file to b.
func (k *Kept) Append(b []byte) ([]byte, error) {
	start := len(b)
	b = append(b, checkpointMagic...)
	b = binary.LittleEndian.AppendUint32(b, checkpointVersion)
	b = binary.LittleEndian.AppendUint64(b, uint64(k.Run))
	b = binary.LittleEndian.AppendUint32(b, uint32(k.Client))
	for _, v := range []uint64{k.Number, uint64(k.Size), k.Saved.Sent, k.Saved.Sends} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	b, err := new(wire.Encoder).AppendFrames(b, []wire.Packet{{Body: k.Saved.Checkpoint}})
	if err != nil {
		return nil, err
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[start:], castagnoli)), nil
}

// Parse reads a file. It fails if a bit of it is wrong.
func Parse(b []byte) (*Kept, error) {
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
	word := func(at int) uint64 { return binary.LittleEndian.Uint64(head[at:]) }
	k := &Kept{Run: int64(word(4)), Client: metasim.ClientID(binary.LittleEndian.Uint32(head[12:])), Number: word(16), Size: int64(word(24))}
	k.Saved.Sent, k.Saved.Sends = word(32), word(40)
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
	k.Saved.Checkpoint = saved
	return k, nil
}
