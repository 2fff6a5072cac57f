package browser

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

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
