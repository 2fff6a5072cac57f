package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"metasim/run"
	"metasim/scenarios"
)

// short is one of many runs. It waits as long as it takes, as other work on this machine is no fault of it.
const short = `name: short
until: 50ms
start_timeout: 1h
peer_timeout: off
clients:
  - {name: ear, model: sink, with: {channels: [TICK, PONG]}}
  - {name: ping, model: ping, with: {rounds: 5, out: PING, in: PONG}}
  - {name: pong, model: echo, with: {in: PING, out: PONG}}
  - {name: tick, model: source, with: {channel: TICK, period: 3ms, count: 9}}
links:
  - {delay: {uniform: {min: 1ms, max: 2ms}}, order: fifo}
`

// A count is how much of what may leak there is.
type count struct{ goroutines, descriptors, files int }

// exceeds reports whether there is more of anything.
func (c count) exceeds(before count) bool {
	return c.goroutines > before.goroutines || c.descriptors > before.descriptors || c.files > before.files
}

func (c count) String() string {
	return fmt.Sprintf("%d goroutines, %d descriptors, %d files", c.goroutines, c.descriptors, c.files)
}

// many carries out many runs in this process, over each transport in turn. It fails if there is more of anything after them than after the first
// ones.
func many(ctx context.Context, runs int, place, program string) error {
	transports, self := run.Transports, []string{program}
	if program == "" {
		transports, self = []string{"mem"}, nil
	}
	sc, _, err := scenarios.Parse("short.metasim.yaml", []byte(short), scenarios.Overrides{})
	if err != nil {
		return err
	}
	warm := min(4*len(transports), runs/2)
	var first count
	digest := ""
	for i := range runs {
		if i == warm {
			first = settled(place, count{})
		}
		dir := filepath.Join(place, "run")
		o := run.Options{Out: dir, Transport: transports[i%len(transports)], Self: self, Live: &run.Live{}}
		out, err := run.Scenario(ctx, sc, o)
		if err != nil || !out.OK {
			return errors.Join(fmt.Errorf("run %d over %s failed", i+1, o.Transport), err, out.Err)
		}
		if digest == "" {
			digest = out.Digest
		}
		if out.Digest != digest {
			return fmt.Errorf("run %d over %s has the digest %s, and the first one %s", i+1, o.Transport, out.Digest, digest)
		}
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	last := settled(place, first)
	fmt.Printf("%d runs over %v in one process, one digest: %v after the first %d, %v after all; %.1f MB in use\n", runs, transports, first, warm, last,
		inUse()/1e6)
	if last.exceeds(first) {
		return errors.New("something is left of each run")
	}
	return nil
}

// settled counts, once there is no more than before, or nothing changes for a while. What a run has begun may end a little after it.
func settled(place string, before count) count {
	c := counted(place)
	for same := 0; c.exceeds(before) && same < 20; {
		time.Sleep(50 * time.Millisecond) // nothing tells that a goroutine has ended
		last := c
		if c = counted(place); c == last {
			same++
		} else {
			same = 0
		}
	}
	return c
}

func counted(place string) (c count) {
	runtime.GC()
	c.goroutines = runtime.NumGoroutine()
	if open, err := os.ReadDir("/proc/self/fd"); err == nil { // elsewhere they are not counted
		c.descriptors = len(open)
	}
	_ = filepath.WalkDir(place, func(_ string, _ fs.DirEntry, _ error) error { // what cannot be read is counted too
		c.files++
		return nil
	})
	return c
}
