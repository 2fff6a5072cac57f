// Package browser is a headless Chromium for tests of what people look at: it opens a page, clicks on it, asks it, takes
// its picture, and fails the test for whatever the page writes to its console as an error.
//
// It speaks the DevTools protocol over a pipe. Where there is no Chromium the test is skipped, loudly; METASIM_PICTURES
// names a directory in which pictures are kept, to look at.
package browser

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
		t.Skip("SKIPPED LOUDLY: no chromium, so the page is not looked at")
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

// Goto opens an address.
func (b *Browser) Goto(url string) {
	b.t.Helper()
	var went struct{ ErrorText string }
	check(b.t, b.call("Page.navigate", map[string]any{"url": url}, &went))
	if went.ErrorText != "" {
		b.t.Fatalf("%s: %s", url, went.ErrorText)
	}
	b.Until(`document.readyState === "complete"`)
}

// Eval evaluates a JavaScript expression in the page, promises awaited, and decodes its value.
func (b *Browser) Eval(expression string, value any) {
	b.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	check(b.t, b.call("Runtime.evaluate", map[string]any{
		"expression": expression, "awaitPromise": true, "returnByValue": true,
	}, &r))
	if e := r.ExceptionDetails; e != nil {
		b.t.Fatalf("%s: %s %s", expression, e.Text, e.Exception.Description)
	}
	if value != nil {
		check(b.t, json.Unmarshal(r.Result.Value, value))
	}
}

// Until waits for a JavaScript condition to hold in the page.
func (b *Browser) Until(condition string) {
	b.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); ; <-tick.C {
		var holds bool
		b.Eval("Boolean("+condition+")", &holds)
		if holds {
			return
		}
		if time.Now().After(end) {
			var text string
			b.Eval("document.body.innerText", &text)
			b.t.Fatalf("this does not come to hold: %s; the page says:\n%s", condition, text)
		}
	}
}

// Text returns the text of the first element that a selector finds.
func (b *Browser) Text(selector string) (text string) {
	b.t.Helper()
	b.Eval(fmt.Sprintf("document.querySelector(%q).innerText", selector), &text)
	return text
}

// Click clicks with the mouse in the middle of an element, whatever lies there: what is hidden is not clicked on.
func (b *Browser) Click(selector string) {
	b.t.Helper()
	var at struct{ X, Y float64 }
	b.Eval(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({block: "center"});
		const r = e.getBoundingClientRect(); return {x: r.x + r.width / 2, y: r.y + r.height / 2}; })()`, selector), &at)
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		check(b.t, b.call("Input.dispatchMouseEvent", map[string]any{
			"type": kind, "x": at.X, "y": at.Y, "button": "left", "clickCount": 1,
		}, nil))
	}
}

// Type writes text where the cursor is.
func (b *Browser) Type(text string) {
	b.t.Helper()
	check(b.t, b.call("Input.insertText", map[string]any{"text": text}, nil))
}

// Show sets the width and the height of the page in pixels, and whether its user likes it dark.
func (b *Browser) Show(width, height int, dark bool) {
	b.t.Helper()
	check(b.t, b.call("Emulation.setDeviceMetricsOverride", map[string]any{
		"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600,
	}, nil))
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	check(b.t, b.call("Emulation.setEmulatedMedia", map[string]any{
		"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}},
	}, nil))
}

// Picture takes a picture of what is shown, as PNG. It is kept under a name where METASIM_PICTURES says so.
func (b *Browser) Picture(name string) []byte {
	b.t.Helper()
	var shot struct{ Data string }
	check(b.t, b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot))
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	check(b.t, err)
	if dir := os.Getenv("METASIM_PICTURES"); dir != "" {
		check(b.t, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644))
	}
	return png
}

// Overflows returns by how many pixels the page is wider than what is shown of it.
func (b *Browser) Overflows() (pixels int) {
	b.t.Helper()
	b.Eval("document.documentElement.scrollWidth - document.documentElement.clientWidth", &pixels)
	return pixels
}

// Complaints returns what has gone wrong on the page since it was last asked: exceptions, errors on the console, what could
// not be loaded; and each address outside of the page's own that was asked for.
func (b *Browser) Complaints(own string) (all []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.events {
		var p struct {
			Type             string
			Args             json.RawMessage
			ExceptionDetails json.RawMessage
			Entry            struct{ Level, Text, URL string }
			Request          struct{ URL string }
		}
		if err := json.Unmarshal(e.params, &p); err != nil {
			all = append(all, err.Error())
		}
		switch {
		case e.method == "Runtime.exceptionThrown":
			all = append(all, "exception: "+string(p.ExceptionDetails))
		case e.method == "Runtime.consoleAPICalled" && (p.Type == "error" || p.Type == "warning" || p.Type == "assert"):
			all = append(all, p.Type+": "+string(p.Args))
		case e.method == "Log.entryAdded" && (p.Entry.Level == "error" || p.Entry.Level == "warning"):
			all = append(all, p.Entry.Level+": "+p.Entry.Text+" "+p.Entry.URL)
		case e.method == "Network.requestWillBeSent" && !strings.HasPrefix(p.Request.URL, own) &&
			!strings.HasPrefix(p.Request.URL, "data:") && !strings.HasPrefix(p.Request.URL, "about:"):
			all = append(all, "it asks "+p.Request.URL)
		}
	}
	b.events = nil
	return all
}
