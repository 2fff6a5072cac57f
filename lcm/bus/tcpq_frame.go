package bus

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"metasim/lcm"
)

const (
	clientMagic = 0x287617fb
	serverMagic = 0x287617fa
	tcpqVersion = 0x0100

	framePublish     = 1
	frameSubscribe   = 2
	frameUnsubscribe = 3
)

// errNoLCM is of a peer that speaks something else.
var errNoLCM = errors.New("that is no LCM tcpq")

// appendHello appends what a side says first.
func appendHello(b []byte, magic uint32) []byte {
	b = binary.BigEndian.AppendUint32(b, magic)
	return binary.BigEndian.AppendUint32(b, tcpqVersion)
}

// readHello reads what the other side says first. Its version is of no consequence: there is one.
func readHello(r io.Reader, magic uint32) error {
	var b [8]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return err
	}
	if got := binary.BigEndian.Uint32(b[:]); got != magic {
		return fmt.Errorf("%w: it begins with %#08x and not with %#08x", errNoLCM, got, magic)
	}
	return nil
}

func appendPublish(b []byte, m *Message) []byte {
	b = appendText(b, framePublish, m.Channel)
	b = binary.BigEndian.AppendUint32(b, uint32(len(m.Payload)))
	return append(b, m.Payload...)
}

// newPublish is the frame of a message.
func newPublish(m *Message) []byte {
	return appendPublish(make([]byte, 0, 12+len(m.Channel)+len(m.Payload)), m)
}

// appendText appends a frame of a text, or the first part of a publish.
func appendText(b []byte, kind uint32, text string) []byte {
	b = binary.BigEndian.AppendUint32(b, kind)
	b = binary.BigEndian.AppendUint32(b, uint32(len(text)))
	return append(b, text...)
}

// A frame is one that came in.
type frame struct {
	kind    uint32
	text    string // the channel, or the pattern
	payload []byte
	dropped bool // the payload was too large to be kept, and was passed over
}

// readFrame reads a frame, with a payload of at most most bytes. It takes memory only for what comes.
func readFrame(r *bufio.Reader, most int) (f frame, err error) {
	if f.kind, err = readUint32(r); err != nil {
		return f, err // io.EOF only here, between frames
	}
	if f.kind < framePublish || f.kind > frameUnsubscribe {
		return f, fmt.Errorf("%w: a frame of kind %d", errNoLCM, f.kind)
	}
	n, err := readUint32(r)
	if err != nil {
		return f, torn(err)
	}
	if n > maxPattern {
		return f, fmt.Errorf("%w: a name of %d bytes", errNoLCM, n)
	}
	text, err := readBytes(r, int(n))
	if f.text = string(text); err != nil || f.kind != framePublish {
		return f, torn(err)
	}
	if n, err = readUint32(r); err != nil {
		return f, torn(err)
	}
	switch {
	case n > lcm.MaxPayload:
		return f, fmt.Errorf("%w: a payload of %d bytes", errNoLCM, n)
	case int(n) > most:
		f.dropped = true
		_, err = io.CopyN(io.Discard, r, int64(n))
	default:
		f.payload, err = readBytes(r, int(n))
	}
	return f, torn(err)
}

// torn makes an end inside a frame an error.
func torn(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func readUint32(r io.Reader) (uint32, error) {
	var b [4]byte
	_, err := io.ReadFull(r, b[:])
	return binary.BigEndian.Uint32(b[:]), err
}

// readBytes reads n bytes. Many are taken in steps, so that who claims a length must send it to get memory.
func readBytes(r io.Reader, n int) ([]byte, error) {
	const step = 1 << 16
	b := make([]byte, 0, min(n, step))
	for len(b) < n {
		have := len(b)
		if have == cap(b) {
			b = append(make([]byte, 0, min(n, 2*have)), b...)
		}
		b = b[:cap(b)]
		if _, err := io.ReadFull(r, b[have:]); err != nil {
			return nil, err
		}
	}
	return b, nil
}
