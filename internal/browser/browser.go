package browser

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// names are those under which Chromium is found.
var names = []string{"chromium", "chromium-browser", "google-chrome", "chrome"}

// A Browser is a Chromium with one page.
type Browser struct {
	t       testing.TB
	to      io.Writer
	session string

	mu      sync.Mutex
	number  int
	waiting map[int]chan reply
	events  []event // since they were last looked at
	gone    error
}

type message struct {
	ID        int             `json:"id,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Method    string          `json:"method,omitempty"`
	Params    any             `json:"params,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     *failure        `json:"error,omitempty"`
}

type failure struct {
	Message string `json:"message"`
}

type event struct {
	method string
	params json.RawMessage
}

type reply struct {
	result json.RawMessage
	err    error
}

// patience is how long the browser may take for anything: on a machine that does something else besides.
const patience = 60 * time.Second

// Open starts a browser with an empty page. It ends with the test.
func Open(t testing.TB) *Browser {
	t.Helper()
	path := ""
	for _, name := range names {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("SKIPPED LOUDLY: no chromium, so nobody looks at the page")
	}
	return start(t, path)
}

func start(t testing.TB, path string) *Browser {
	t.Helper()
	fromUs, toIt, err := os.Pipe()
	check(t, err)
	fromIt, toUs, err := os.Pipe()
	check(t, err)
	cmd := exec.Command(path, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
		"--no-first-run", "--disable-background-networking", "--disable-extensions", "--mute-audio", "--remote-debugging-pipe",
		"--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{fromUs, toUs} // it reads from 3, and writes to 4
	check(t, cmd.Start())
	check(t, errors.Join(fromUs.Close(), toUs.Close()))
	b := &Browser{t: t, to: toIt, waiting: map[int]chan reply{}}
	var reading sync.WaitGroup
	reading.Go(func() { b.listen(fromIt) })
	t.Cleanup(func() {
		b.call("Browser.close", nil, nil)
		// How it ended is of no interest.
		_ = cmd.Wait()
		reading.Wait()
		_ = errors.Join(toIt.Close(), fromIt.Close())
	})
	var target struct{ TargetID string }
	check(t, b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target))
	var attached struct{ SessionID string }
	check(t, b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached))
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		check(t, b.call(domain+".enable", nil, nil))
	}
	return b
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// listen takes what the browser says: JSON, with a zero byte behind each.
func (b *Browser) listen(from io.Reader) {
	r := bufio.NewReader(from)
	for {
		text, err := r.ReadBytes(0)
		if err != nil {
			b.end(err)
			return
		}
		var m struct {
			message
			Params json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal(text[:len(text)-1], &m); err != nil {
			b.end(err)
			return
		}
		b.mu.Lock()
		if m.ID == 0 {
			b.events = append(b.events, event{m.Method, m.Params})
		} else if answer := b.waiting[m.ID]; answer != nil {
			delete(b.waiting, m.ID)
			r := reply{result: m.Result}
			if m.Error != nil {
				r.err = errors.New(m.Error.Message)
			}
			answer <- r
		}
		b.mu.Unlock()
	}
}

func (b *Browser) end(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.gone = fmt.Errorf("the browser has gone: %w", err)
	for id, answer := range b.waiting {
		delete(b.waiting, id)
		answer <- reply{err: b.gone}
	}
}

// call has the browser do something, and waits until it is done.
func (b *Browser) call(method string, params, result any) error {
	answer := make(chan reply, 1)
	b.mu.Lock()
	b.number++
	id := b.number
	if b.gone != nil {
		b.mu.Unlock()
		return b.gone
	}
	b.waiting[id] = answer
	b.mu.Unlock()
	text, err := json.Marshal(message{ID: id, SessionID: b.session, Method: method, Params: params})
	if err != nil {
		return err
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		return err
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case r := <-answer:
		if r.err != nil {
			return fmt.Errorf("%s: %w", method, r.err)
		}
		if result == nil {
			return nil
		}
		return json.Unmarshal(r.result, result)
	case <-timer.C:
		return fmt.Errorf("%s: no answer after %v", method, patience)
	}
}
