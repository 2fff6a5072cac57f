// Package browser is a headless Chromium for tests of what people look at: it opens a page, clicks on it, asks it, takes
// its picture, and tells what the page writes to its console as an error.
//
// chromedp drives it. Where there is no Chromium the test is skipped, loudly; METASIM_PICTURES names a directory in which
// pictures are kept, to look at.
package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// A Browser is a Chromium with one page.
type Browser struct {
	t   testing.TB
	ctx context.Context // of chromedp: the page

	mu     sync.Mutex
	events []any // since they were last looked at
}

// patience is how long the browser may take for anything: on a machine that does something else besides.
const patience = 2 * time.Minute

// Open starts a browser with an empty page. It ends with the test.
func Open(t testing.TB) *Browser {
	t.Helper()
	b := &Browser{t: t}
	ctx, cancel := chromedp.NewContext(context.Background(), chromedp.WithListener(b.note),
		chromedp.WithAllocatorOptions(chromedp.NoSandbox, chromedp.DisableGPU, chromedp.WSURLReadTimeout(patience)))
	b.ctx = ctx
	err := chromedp.Do(ctx)
	if errors.Is(err, exec.ErrNotFound) {
		cancel()
		t.Skip("SKIPPED LOUDLY: no chromium, so the page is not looked at")
	}
	check(t, err)
	t.Cleanup(func() {
		check(t, chromedp.Cancel(ctx))
		cancel()
	})
	return b
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (b *Browser) note(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.events = append(b.events, event)
}

// run has the browser do something, and waits until it is done.
func run[T any](b *Browser, what string, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, action)
	if err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
	return value
}

// Goto opens an address.
func (b *Browser) Goto(url string) {
	b.t.Helper()
	run(b, url, chromedp.Navigate(url))
}

// Eval evaluates a JavaScript expression in the page, promises awaited, and decodes its value.
func Eval[T any](b *Browser, expression string) T {
	b.t.Helper()
	return run(b, expression, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// Do evaluates a JavaScript expression in the page for what it does.
func (b *Browser) Do(expression string) {
	b.t.Helper()
	Eval[chromedp.Void](b, expression)
}

// Until waits for a JavaScript condition to hold in the page. chromedp.Poll would compile the condition in the page, which a
// page that forbids that by its Content-Security-Policy refuses.
func (b *Browser) Until(condition string) {
	b.t.Helper()
	b.until(condition, func(int) {})
}

// ClickUntil clicks on an element once a second, until a condition holds. While a page loads, its elements still move, and a click may
// miss; a user would click again too.
func (b *Browser) ClickUntil(selector, condition string) {
	b.t.Helper()
	b.until(condition, func(try int) {
		if try%50 == 0 {
			b.Click(selector)
		}
	})
}

// until does something and looks whether a condition holds, 50 times a second.
func (b *Browser) until(condition string, do func(try int)) {
	b.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	end := time.Now().Add(patience)
	for try := 0; ; try++ {
		do(try)
		if Eval[bool](b, "Boolean("+condition+")") {
			return
		}
		<-tick.C
		if time.Now().After(end) {
			b.t.Fatalf("this does not come to hold: %s; the page says:\n%s", condition, b.Text("body"))
		}
	}
}

// Text returns the text of the first element that a selector finds.
func (b *Browser) Text(selector string) string {
	b.t.Helper()
	return Eval[string](b, fmt.Sprintf("document.querySelector(%q).innerText", selector))
}

// Click clicks with the mouse in the middle of an element, whatever lies there: what is hidden is not clicked on.
func (b *Browser) Click(selector string) {
	b.t.Helper()
	run(b, selector, chromedp.Click(chromedp.CSS(selector)))
}

// Drag presses the mouse in an element, moves it, and releases it: from one share of the element's width and height to another.
func (b *Browser) Drag(selector string, fromX, fromY, toX, toY float64) {
	b.t.Helper()
	type box struct{ X, Y, Width, Height float64 }
	at := Eval[box](b, fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({block: "center"}); const r = e.getBoundingClientRect();
		return {X: r.x, Y: r.y, Width: r.width, Height: r.height}; })()`, selector))
	x := func(share float64) float64 { return at.X + share*at.Width }
	y := func(share float64) float64 { return at.Y + share*at.Height }
	left := func(p *input.DispatchMouseEventParams) {
		p.Button, p.Buttons, p.ClickCount = input.MouseButtonLeft, 1, 1
	}
	run(b, "drag", chromedp.MouseEvent(chromedp.MousePressed, x(fromX), y(fromY), left))
	for i := range 5 {
		share := float64(i+1) / 5
		run(b, "drag", chromedp.MouseEvent(chromedp.MouseMoved, x(fromX+share*(toX-fromX)), y(fromY+share*(toY-fromY)), left))
	}
	run(b, "drag", chromedp.MouseEvent(chromedp.MouseReleased, x(toX), y(toY), left))
}

// Type writes text where the cursor is.
func (b *Browser) Type(text string) {
	b.t.Helper()
	run(b, text, chromedp.KeyEvent(text))
}

// Show sets the width and the height of the page in pixels, and whether its user likes it dark.
func (b *Browser) Show(width, height int, dark bool) {
	b.t.Helper()
	scheme := &emulation.MediaFeature{Name: "prefers-color-scheme", Value: "light"}
	if dark {
		scheme.Value = "dark"
	}
	var kind []chromedp.EmulateViewportOption
	if width < 600 {
		kind = append(kind, chromedp.EmulateMobile)
	}
	run(b, "show", chromedp.EmulateViewport(int64(width), int64(height), kind...))
	run(b, "show", func(ctx context.Context, page *chromedp.Target) (cdp.Empty, error) {
		return cdp.Call(ctx, page, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{scheme}})
	})
}

// Picture takes a picture of what is shown, as PNG. It is kept under a name where METASIM_PICTURES says so.
func (b *Browser) Picture(name string) []byte {
	b.t.Helper()
	png := run(b, name, chromedp.CaptureScreenshot())
	if dir := os.Getenv("METASIM_PICTURES"); dir != "" {
		check(b.t, os.MkdirAll(dir, 0o755))
		check(b.t, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644))
	}
	return png
}

// Overflows returns by how many pixels the page is wider than what is shown of it.
func (b *Browser) Overflows() int {
	b.t.Helper()
	return Eval[int](b, "document.documentElement.scrollWidth - document.documentElement.clientWidth")
}

// Complaints returns what has gone wrong on the page since it was last asked: exceptions, errors on the console, what could
// not be loaded; and each address outside of the page's own that was asked for.
func (b *Browser) Complaints(own string) (all []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.events {
		switch e := e.(type) {
		case *runtime.EventExceptionThrown:
			all = append(all, "exception: "+text(e.ExceptionDetails))
		case *runtime.EventConsoleAPICalled:
			if e.Type == "error" || e.Type == "warning" || e.Type == "assert" {
				all = append(all, string(e.Type)+": "+text(e.Args))
			}
		case *log.EventEntryAdded:
			if e.Entry.Level == "error" || e.Entry.Level == "warning" {
				all = append(all, string(e.Entry.Level)+": "+e.Entry.Text+" "+e.Entry.URL)
			}
		case *network.EventRequestWillBeSent:
			url := e.Request.URL
			if !strings.HasPrefix(url, own) && !strings.HasPrefix(url, "data:") && !strings.HasPrefix(url, "about:") {
				all = append(all, "it asks "+url)
			}
		}
	}
	b.events = nil
	return all
}

// text is a value as JSON.
func text(value any) string {
	b, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(b)
}
