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

// A file is an event log that is written. An old log is overwritten, as LCM does. Messages are in the order of Publish, so
// times may go back.
//
// A message with an empty payload is left out: LCM's Java tools stop reading at one.
type file struct {
	counters

	mu     sync.Mutex
	file   *os.File
	buf    *bufio.Writer
	log    *lcm.Writer
	number int64
	err    error // the first failure; nothing is written after it, because it would follow a torn event
	closed bool
}

func openFile(a names.Address, o Options) (*file, error) {
	f, err := os.OpenFile(a.Where, os.O_RDWR|os.O_CREATE, 0o666)
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

// overwrite empties a log. It refuses a regular file that is something else.
func overwrite(f *os.File) error {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return err
	}
	begin := make([]byte, min(info.Size(), int64(len(lcm.Magic))))
	if _, err := f.ReadAt(begin, 0); err != nil {
		return err
	}
	if !strings.HasPrefix(lcm.Magic, string(begin)) {
		return errors.New("the file exists and is no event log; name another one, or remove it")
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
			f.sent.Add(uint64(before - f.number)) // subtracts them again
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

// errWriteOnly is the error of Subscribe.
var errWriteOnly = errors.New("an event log is only written here; use the model lcmlog to play one into a run")

func (f *file) Subscribe(...string) (*Subscription, error) { return nil, errWriteOnly }

func (f *file) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil
	}
	f.closed = true
	if f.err == nil {
		f.err = f.buf.Flush()
	}
	return errors.Join(f.err, f.file.Close())
}
