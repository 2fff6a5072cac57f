package server_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/server"
	"metasim/wire"
)

// A disk is an observer that writes later: it is full, or has failed, as a test says.
type disk struct {
	state   atomic.Pointer[diskState]
	changed func()
	sent    []string     // payloads
	flushed atomic.Int64 // of sent

	fills, flushFills bool // it is full once it was shown something, or has flushed it
}

type diskState struct {
	full bool
	err  error
}

func (d *disk) Observe(_ int64, ev metasim.Event, _ []metasim.Effect) error {
	if send, ok := ev.(*metasim.Send); ok {
		d.sent = append(d.sent, string(send.Payload))
		if d.fills {
			d.become(diskState{full: true})
		}
	}
	return nil
}

func (d *disk) Full() (bool, error)   { s := d.state.Load(); return s.full, s.err }
func (d *disk) Notify(changed func()) { d.changed = changed }

func (d *disk) Flush() {
	d.flushed.Store(int64(len(d.sent)))
	if d.flushFills {
		d.become(diskState{full: true})
	}
}

func (d *disk) become(s diskState) {
	d.state.Store(&s)
	if !s.full {
		d.changed()
	}
}

// sender is the Hello of a client that publishes X.
func sender(name string) wire.Hello {
	h := hello(name)
	h.Publications = []string{"X"}
	return h
}

func onDisk(names ...string) (server.Config, *disk) {
	d := &disk{}
	d.state.Store(&diskState{})
	c := config(names...)
	c.Observers = []server.Observer{d}
	return c, d
}

// While an observer is full nothing is taken and nobody is authorized; the run says so, and goes on where it was.
func TestARecordThatIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := onDisk("a", "b")
		r := serve(t, c)
		peers := r.start(hello("a"), sender("b"))
		a, b := peers[0], peers[1]
		a.say(until(at(0), at(1)))
		require.Zero(t, r.Snapshot().Record)
		d.become(diskState{full: true})
		b.say(sendX("1"), sendX("2"))
		b.say(sendX("3"), until(at(0), at(2)))
		pass(3 * time.Second)
		synctest.Wait()
		require.Empty(t, d.sent)
		shot := r.Snapshot()
		require.True(t, shot.Record.Now)
		require.Equal(t, 3*time.Second, shot.Record.Total)
		require.Equal(t, shot.Wall-3*time.Second, shot.Record.Since)
		require.Zero(t, shot.Totals.Sent)
		d.become(diskState{})
		hear[*metasim.Authorize](a)
		synctest.Wait()
		require.Equal(t, []string{"1", "2", "3"}, d.sent)
		require.Equal(t, server.RecordWait{Since: shot.Wall, Total: 3 * time.Second}, r.Snapshot().Record)
		r.cancel(errTestOver)
		require.ErrorIs(t, r.end(), errTestOver)
		require.Equal(t, 3*time.Second, r.Result().RecordWait)
	})
}

// An observer that is full by what it is shown, or has flushed, keeps the next message waiting. The run says so before that comes.
func TestARecordThatFills(t *testing.T) {
	for _, flush := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c, d := onDisk("a")
			r := serve(t, c)
			a := r.start(sender("a"))[0]
			d.fills, d.flushFills = !flush, flush
			a.say(sendX("1"))
			pass(time.Second)
			synctest.Wait()
			record := r.Snapshot().Record
			require.True(t, record.Now)
			want := time.Second
			if flush {
				want -= 250 * time.Millisecond
			}
			require.Equal(t, want, record.Total)
			r.cancel(errTestOver)
			require.ErrorIs(t, r.end(), errTestOver)
		})
	}
}

// What a run observed before it hung is written soon, though nothing comes after it; and while nothing comes, nothing is done.
func TestARunThatHangsIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := onDisk("a")
		r := serve(t, c)
		a := r.start(sender("a"))[0]
		for sends := range 3 {
			pass(time.Second)
			a.say(sendX("x"))
			synctest.Wait()
			require.EqualValues(t, sends, d.flushed.Load())
			pass(250 * time.Millisecond)
			synctest.Wait()
			require.EqualValues(t, sends+1, d.flushed.Load())
		}
		d.flushed.Store(0)
		pass(time.Minute)
		require.Zero(t, d.flushed.Load())
	})
}

// A client in this process that has more to say than is taken waits, also on the main loop, and is heard when there is room. The end of
// the run lets it go.
func TestWhoBringsMuchWaits(t *testing.T) {
	for _, end := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c, d := onDisk("a")
			r := serve(t, c)
			a := r.start(sender("a"))[0]
			d.become(diskState{full: true})
			const many = 40_000
			said := 0
			go func() {
				for range many {
					if a.conn.Write([]wire.Packet{{Body: sendX("x")}}) != nil {
						return // the run has ended
					}
					said++
				}
				a.say(&metasim.Leave{})
			}()
			synctest.Wait()
			require.Less(t, said, many/2)
			if end {
				r.cancel(errTestOver)
				require.ErrorIs(t, r.end(), errTestOver)
				synctest.Wait()
				return
			}
			d.become(diskState{})
			require.NoError(t, r.end())
			require.Len(t, d.sent, many)
		})
	}
}

// An observer that has failed ends the run at once, although nothing else happens.
func TestARecordThatFails(t *testing.T) {
	c, d := onDisk("a")
	r := serve(t, c)
	r.start(hello("a"))
	broken := errors.New("no space left")
	d.become(diskState{err: broken})
	require.ErrorIs(t, r.end(), broken)
	require.ErrorAs(t, r.end(), new(*server.ObserverError))
}

// A run that cannot start because of its disk says so.
func TestNoStartOnAFullRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, d := onDisk("a")
		r := serve(t, c)
		d.become(diskState{full: true})
		r.dial().say(hello("a"))
		require.EqualError(t, r.end(), "the run did not start within 30s: the disk does not take its journal; see to the disk, or use another with --out")
	})
}
