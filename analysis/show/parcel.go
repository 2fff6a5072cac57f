package show

import (
	"bytes"
	"io"

	"github.com/klauspost/compress/zlib"
)

// maxParcel is how many bytes of packets are compressed together. Perfetto wants a packet that holds others to be shorter than
// 512 KB.
const maxParcel = 400_000

// A parcel holds packets until there are enough of them to be worth compressing, and sends them as one: a trace says nearly
// the same again and again.
type parcel struct {
	w       io.Writer
	packets message // those that wait
	zip     *zlib.Writer
	zipped  bytes.Buffer
}

func newParcel(w io.Writer) (*parcel, error) {
	p := &parcel{w: w}
	var err error
	p.zip, err = zlib.NewWriterLevel(&p.zipped, zlib.BestSpeed) // what is slower makes it hardly smaller
	return p, err
}

// send writes the packets that wait, if there are any.
func (p *parcel) send() error {
	if len(p.packets) == 0 {
		return nil
	}
	p.zipped.Reset()
	p.zip.Reset(&p.zipped)
	if _, err := p.zip.Write(p.packets); err != nil {
		return err
	}
	if err := p.zip.Close(); err != nil {
		return err
	}
	_, err := p.w.Write(message(nil).bytes(tracePacket, message(nil).bytes(packetCompressed, p.zipped.Bytes())))
	return err
}
