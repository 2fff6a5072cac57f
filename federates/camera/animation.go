package camera

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"

	"metasim/metasim"
)

// A Frame is a picture of an animation, as PNG, and when it was made.
type Frame struct {
	PNG  []byte
	Time metasim.Time
}

const pngSignature = "\x89PNG\r\n\x1a\n"

var errFrame = errors.New("a picture is no PNG, or not of the size of the first one")

// WriteAnimation writes an animated PNG, which passes as fast as simulated time and begins again at its end. The pictures are not coded anew: an animated PNG is the
// chunks of all pictures in one file.
func WriteAnimation(w io.Writer, frames []Frame) error {
	out := &chunkWriter{w: w}
	out.bytes([]byte(pngSignature))
	var header []byte
	sequence := uint32(0)
	for i, f := range frames {
		ihdr, data, err := pngParts(f.PNG)
		switch {
		case err != nil:
			return err
		case i == 0:
			header = ihdr
			out.chunk("IHDR", ihdr)
			out.chunk("acTL", binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, uint32(len(frames))), 0))
		case !bytes.Equal(header, ihdr):
			return errFrame
		}
		control := binary.BigEndian.AppendUint32(nil, sequence)
		control = append(control, ihdr[:8]...)        // width, height
		control = append(control, make([]byte, 8)...) // at the left and the top
		control = binary.BigEndian.AppendUint16(control, delay(frames, i))
		control = append(control, 1000>>8, 1000&0xff, 0, 0) // thousandths of a second; the next one takes its place
		out.chunk("fcTL", control)
		sequence++
		for _, d := range data {
			if sequence == 1 { // the first picture is one that any program can show
				out.chunk("IDAT", d)
				continue
			}
			out.chunk("fdAT", append(binary.BigEndian.AppendUint32(nil, sequence), d...))
			sequence++
		}
	}
	out.chunk("IEND", nil)
	return out.err
}

// delay returns for how many milliseconds a picture stays. The times themselves are rounded, so that what is lost of one picture is not lost of all. Programs that show
// animations take 0 for a tenth of a second.
func delay(frames []Frame, i int) uint16 {
	if i > 0 && i == len(frames)-1 {
		i-- // the last one stays for as long as the one before
	}
	next := frames[min(i+1, len(frames)-1)]
	round := func(t metasim.Time) metasim.Time { return (t + metasim.Millisecond/2) / metasim.Millisecond }
	return uint16(min(max(round(next.Time)-round(frames[i].Time), 1), 65535))
}

// pngParts returns the header of a PNG and its data.
func pngParts(png []byte) (header []byte, data [][]byte, err error) {
	rest, ok := bytes.CutPrefix(png, []byte(pngSignature))
	for ok && len(rest) >= 12 {
		n := uint64(binary.BigEndian.Uint32(rest))
		if n > uint64(len(rest)-12) {
			break
		}
		switch body := rest[8 : 8+n]; string(rest[4:8]) {
		case "IHDR":
			header = body
		case "IDAT":
			data = append(data, body)
		}
		rest = rest[12+n:]
	}
	if len(header) != 13 || data == nil || len(rest) > 0 {
		return nil, nil, errFrame
	}
	return header, data, nil
}

// A chunkWriter writes chunks. The first error stays.
type chunkWriter struct {
	w   io.Writer
	err error
}

func (c *chunkWriter) bytes(b []byte) {
	if c.err == nil {
		_, c.err = c.w.Write(b)
	}
}

func (c *chunkWriter) chunk(kind string, body []byte) {
	text := append([]byte(kind), body...)
	c.bytes(binary.BigEndian.AppendUint32(nil, uint32(len(body))))
	c.bytes(text)
	c.bytes(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(text)))
}
