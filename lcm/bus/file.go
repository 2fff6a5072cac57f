package bus

import (
	"bufio"
	"errors"
	"os"
	"strings"
	"sync"

	"metasim/lcm"
	"metasim/lcm/names"
	"metasim/metasim"
)

// A file is an event log that is written. What was there is overwritten, as LCM does. Messages stand in the order in which
// they were published, so times may go back.
//
// An empty payload is left out: the Java tools read no further than to one.
type file struct {
	counters

	mu     sync.Mutex
	file   *os.File
	buf    *bufio.Writer
	log    *lcm.Writer
	number int64
	err    error // the first failure: what follows a torn event could be lost with it
	closed bool
}

func openFile(a names.Address, o Options) (*file, error) {
	f, err := os.OpenFile(a.Path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	if err := overwrite(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	b := &file{file: f, buf: bufio.NewWriterSize(f, 1<<18)}
	b.log = lcm.NewWriter(b.buf)
	b.counters.log, b.url = o.Log, a.URL
	return b, nil
}

const logMagic = "\xed\xa1\xda\x01" // every event begins with it

// overwrite empties a log. A regular file that is something else was meant otherwise.
func overwrite(f *os.File) error {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return err
	}
	begin := make([]byte, min(info.Size(), int64(len(logMagic))))
	if _, err := f.ReadAt(begin, 0); err != nil {
		return err
	}
	if !strings.HasPrefix(logMagic, string(begin)) {
		return errors.New("the file is there, and no event log; name another one, or remove it")
	}
	return f.Truncate(0)
}

func (f *file) Publish(ms ...Message) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return ErrClosed
	}
	var first error
	before := f.number
	for i := range ms {
		if m := &ms[i]; f.fits(m, &first) {
			f.write(m)
		}
	}
	if f.err == nil {
		if f.err = f.buf.Flush(); f.err != nil {
			f.sent.Add(uint64(before - f.number)) // takes them back
			f.fails(uint64(f.number-before), f.err)
		}
	}
	return first
}

func (f *file) write(m *Message) {
	switch {
	case f.err != nil:
		f.failed.Add(1)
		return
	case len(m.Payload) == 0:
		f.skipped.Add(1)
		return
	}
	ev := lcm.Event{Number: f.number, Time: int64(m.At / metasim.Microsecond), Channel: m.Channel, Payload: m.Payload}
	if f.err = f.log.Write(ev); f.err != nil {
		f.fails(1, f.err)
		return
	}
	f.number++
	f.sent.Add(1)
}

// errWriteOnly is what a log says to who would listen.
var errWriteOnly = errors.New("an event log is written here, and not heard; the model lcmlog plays one into a run")

func (f *file) Subscribe(...string) (*Subscription, error) { return nil, errWriteOnly }

func (f *file) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	return errors.Join(f.buf.Flush(), f.file.Close())
}
