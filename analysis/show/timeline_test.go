package show

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/analysis/report"
	"metasim/analysis/trace"
	"metasim/internal/browser"
	"metasim/metasim"
)

// crowd is a run of 20 alike clients and two others, which wait for 600 µs of each millisecond: three quarters of that for the one, the rest
// for the other.
func crowd(testing.TB) (*trace.Timeline, *report.Report) {
	const n, grants = 20, 1500
	tl := &trace.Timeline{Begin: 1000}
	r := &report.Report{Scenario: "crowd"}
	for i := range n {
		tl.Names = append(tl.Names, "beacon-"+strconv.Itoa(i))
	}
	tl.Names = append(tl.Names, "first", "second")
	for _, name := range tl.Names {
		r.Clients = append(r.Clients, report.ClientReport{Name: name})
	}
	for k := range grants {
		for c := range n {
			polled := tl.Begin + int64(k)*1e6
			begin := int32(len(tl.Holds))
			tl.Holds = append(tl.Holds, trace.Hold{Begin: polled, End: polled + 450_000, Root: n, Path: -1},
				trace.Hold{Begin: polled + 450_000, End: polled + 600_000, Root: n + 1, Path: -1})
			tl.Grants = append(tl.Grants, trace.Grant{
				Client: metasim.ClientID(c), Cause: n, Polled: polled, Granted: polled + 600_000, Work: 400_000, Reported: polled + 1e6,
				From: metasim.At(metasim.Time(k) * metasim.Millisecond), Holds: [2]int32{begin, begin + 2},
			})
		}
	}
	tl.End = tl.Begin + grants*1e6
	r.SimNS = grants * 1e6
	return tl, r
}

// amounts counts the pixels of each colour in a rectangle of the timeline: its left, top, width and height.
func amounts(b *browser.Browser, x, y, width, height int) map[string]int {
	return browser.Eval[map[string]int](b, fmt.Sprintf(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))).then(() => { const c = document.querySelector("#lanes"), k = document.createElement("canvas"), r = c.width / c.clientWidth;
		k.width = c.width; k.height = c.height; const g = k.getContext("2d", {willReadFrequently: true}); g.drawImage(c, 0, 0);
		const d = g.getImageData(%d * r, %d * r, %d * r, %d * r).data, all = {};
		for (let i = 0; i < d.length; i += 4) { const s = "#" + [0, 1, 2].map((j) => d[i + j].toString(16).padStart(2, "0")).join(""); all[s] = (all[s] || 0) + 1; }
		return all; })`, x, y, width, height))
}

const (
	rowsTop, rowHeight = 64 + 24, 26 // of the timeline
	plotLeft           = 150
)

// By culprit, the waiting of a row has the colours of those who were waited for, as much of each as was waited: of alike clients that share a row,
// and of a client whose grants are narrower than a pixel.
func TestCulpritsInAnyRow(t *testing.T) {
	b, address := open(t, crowd)
	const first, second, edges = "#f28f7b", "#7cc4a4", 2.0 / 18
	look := func(row int) (one, other, all float64) {
		got := amounts(b, plotLeft, rowsTop+row*rowHeight+4, 900, 18)
		for _, n := range got {
			all += float64(n)
		}
		return float64(got[first]) / all, float64(got[second]) / all, all
	}
	_, none, _ := look(0)
	require.Zero(t, none)
	b.Click("#culprits")
	b.Until(`document.querySelector("#legend").innerText.includes("waits for second")`)
	one, other, _ := look(0)
	require.InDelta(t, 0.45, one, edges, "where two colours meet they share a pixel, of 18")
	require.InDelta(t, 0.15, other, edges)
	b.Click("#axis-sim")
	b.Until(`document.querySelector("#legend").innerText.includes("bars:")`)
	one, other, _ = look(0)
	require.InDelta(t, 0.45, one, edges)
	require.InDelta(t, 0.15, other, edges)
	b.Click("#group")
	b.Until(`document.querySelector("#lanes").clientHeight > 300`)
	b.Click("#axis-wall")
	one, other, _ = look(3)
	require.InDelta(t, 0.45, one, edges, "grants that are narrower than a pixel")
	require.InDelta(t, 0.15, other, edges)
	require.Empty(t, b.Complaints(address))
}

// greyRun is a run of four alike clients and one by itself: of each grant 40 % are work, 20 % waiting for a core, 10 % the dispatcher's, and 30 % transport.
func greyRun(grants int) func(testing.TB) (*trace.Timeline, *report.Report) {
	return func(testing.TB) (*trace.Timeline, *report.Report) {
		tl := &trace.Timeline{Begin: 1000, End: 1000 + int64(grants)*1e6, Names: []string{"alike-0", "alike-1", "alike-2", "alike-3", "other"}}
		r := &report.Report{Scenario: "grey", SimNS: int64(grants) * 1e6, WallS: float64(grants) * 1e-3, CoreWaitS: float64(grants) * 1e-3}
		for c, name := range tl.Names {
			r.Clients = append(r.Clients, report.ClientReport{Name: name, Grants: uint64(grants), DispatcherS: float64(grants) * 100e-6})
			for k := range int64(grants) {
				tl.Grants = append(tl.Grants, trace.Grant{
					Client: metasim.ClientID(c), Polled: tl.Begin + k*1e6, Granted: tl.Begin + k*1e6, Work: 400_000, CoreWait: 200_000, Reported: tl.Begin + (k+1)*1e6,
					From: metasim.At(metasim.Time(k) * metasim.Millisecond),
				})
			}
		}
		return tl, r
	}
}

// What is neither work nor waiting has a grey for each of its parts: in a row that many share, in one of grants that are wide or narrower than a pixel,
// and in simulated time.
func TestTheGreyIsSplit(t *testing.T) {
	for _, grants := range []int{5, 1500} {
		b, address := open(t, greyRun(grants))
		for _, axis := range []string{"wall", "sim"} {
			b.Click("#axis-" + axis)
			b.Until(fmt.Sprintf(`document.querySelector("#legend").innerText.includes("bars:") === %t`, axis == "sim"))
			for row := range 2 {
				got, all := amounts(b, plotLeft, rowsTop+row*rowHeight+4, 900, 18), 0
				for _, n := range got {
					all += n
				}
				for color, share := range map[string]float64{"#2f6bdb": 0.4, "#8d97a8": 0.2, "#a7b0c0": 0.1, "#c3cad6": 0.3} {
					require.InDelta(t, share, float64(got[color])/float64(all), 2.0/18, "%d grants, %s, row %d: %s in %v", grants, axis, row, color, got)
					require.NotZero(t, got[color])
				}
			}
		}
		require.Contains(t, b.Text("#legend"), "waits for a core")
		require.Contains(t, b.Text("#legend"), "dispatcher, on average")
		b.Click("#axis-wall")
		b.Drag("#lanes", 0.3, 0.6, 0.6, 0.6)
		b.Until(`document.querySelector("#detail").innerText.includes("all rows")`)
		require.Regexp(t, `neither \S+ \(without a core \S+, dispatcher \S+\)`, b.Text("#detail"))
		require.Empty(t, b.Complaints(address))
	}
}

// one is a run of a client that computes but for a wait: from 1.49 s to 1.50000025 s.
func one(testing.TB) (*trace.Timeline, *report.Report) {
	tl := &trace.Timeline{Begin: 1000, End: 1000 + 3e9, Names: []string{"sim"}}
	at := func(polled, granted, reported, from int64) {
		tl.Grants = append(tl.Grants, trace.Grant{
			Polled: tl.Begin + polled, Granted: tl.Begin + granted, Reported: tl.Begin + reported, Work: reported - granted, From: metasim.At(metasim.Time(from)),
		})
	}
	at(0, 0, 1.49e9, 0)
	at(1.49e9, edge, 3e9, 10)
	return tl, &report.Report{Scenario: "one", SimNS: 20, Clients: []report.ClientReport{{Name: "sim"}}}
}

const edge = 1_500_000_250 // when the wait of one ends, in nanoseconds

// writes makes the page keep what it writes on the timeline: window.written has texts with their places.
const writes = `(() => { const f = CanvasRenderingContext2D.prototype.fillText, clear = CanvasRenderingContext2D.prototype.clearRect;
	CanvasRenderingContext2D.prototype.clearRect = function (...all) { window.written = []; return clear.apply(this, all); };
	CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) { window.written.push({text, x, y}); return f.call(this, text, x, y, ...rest); }; })()`

// A word is a text on the timeline.
type word struct {
	Text string
	X, Y float64
}

// nanoseconds reads a time as the axis writes it.
func nanoseconds(t *testing.T, text string) float64 {
	number := strings.TrimRight(text, "nµms")
	unit := text[len(number):]
	n, err := strconv.ParseFloat(number, 64)
	require.NoError(t, err, text)
	return n * map[string]float64{"": 1, "ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}[unit]
}

// Where the ticks of the axis differ only far behind the point, it says a time for all of them, and what each adds to it. Both together are
// right to the nanosecond, and no two ticks are written alike.
func TestTheAxisHasAnOffset(t *testing.T) {
	b, address := open(t, one)
	b.Do(writes)
	b.Click("#lanes") // so that keys are for the timeline
	axis := func() (offset float64, ticks []word) {
		amounts(b, 0, 0, 1, 1) // it is drawn
		for _, w := range browser.Eval[[]word](b, "window.written.filter((w) => w.y === 64 + 12)") {
			if text, found := strings.CutSuffix(w.Text, " +"); found {
				offset = nanoseconds(t, text)
			} else {
				ticks = append(ticks, w)
			}
		}
		return offset, ticks
	}
	b.Type("s")
	offset, ticks := axis()
	require.Zero(t, offset)
	require.Equal(t, "0", ticks[0].Text)
	for range 27 {
		b.Type("w") // around the middle: 1.5 s
	}
	offset, ticks = axis()
	require.Greater(t, offset, 1.4e9)
	require.Greater(t, len(ticks), 4)
	seen := map[string]bool{}
	for _, w := range ticks {
		require.False(t, seen[w.Text], "%s twice", w.Text)
		require.Less(t, len(w.Text), 9)
		seen[w.Text] = true
	}
	a, z := ticks[1], ticks[len(ticks)-2] // the outer ones are moved if they would be cut off
	perPixel := (nanoseconds(t, z.Text) - nanoseconds(t, a.Text)) / (z.X - a.X)
	require.Less(t, perPixel, 20.0)
	begins := browser.Eval[float64](b, fmt.Sprintf(firstBlue, rowsTop+12))
	require.InDelta(t, edge, offset+nanoseconds(t, a.Text)+(begins-a.X)*perPixel, 2*perPixel)
	require.Empty(t, b.Complaints(address))
}

// firstBlue is where work begins in a line of the timeline.
const firstBlue = `(() => { const c = document.querySelector("#lanes"), k = document.createElement("canvas"), r = c.width / c.clientWidth;
	k.width = c.width; k.height = c.height; const g = k.getContext("2d", {willReadFrequently: true}); g.drawImage(c, 0, 0);
	const d = g.getImageData(0, %d * r, c.width, 1).data; let x = 0; while (x < c.width && !(d[4*x] === 0x2f && d[4*x+1] === 0x6b && d[4*x+2] === 0xdb)) x++; return x / r; })()`

// slowStart is a run of 200 clients that all compute for its first 60 ms, of 100, and then one at a time.
func slowStart(testing.TB) (*trace.Timeline, *report.Report) {
	const n = 200
	tl := &trace.Timeline{Begin: 1000, End: 1000 + 100e6}
	r := &report.Report{Scenario: "start", SimNS: 40e6}
	for i := range n {
		tl.Names = append(tl.Names, "beacon-"+strconv.Itoa(i))
		tl.Starts = append(tl.Starts, trace.Start{End: tl.Begin + 60e6, Work: 60e6})
		r.Clients = append(r.Clients, report.ClientReport{Name: tl.Names[i]})
	}
	for k := range int64(40) {
		tl.Grants = append(tl.Grants, trace.Grant{
			Client: metasim.ClientID(k), Polled: tl.Begin + 60e6, Granted: tl.Begin + (60+k)*1e6, Reported: tl.Begin + (61+k)*1e6, Work: 1e6, From: metasim.At(metasim.Time(k) * 1e6),
		})
	}
	spike := report.ProfileReport{EndS: 0.001, EndNS: 0, Computing: n, Running: n} // the others wait for a core
	r.Profile = []report.ProfileReport{spike, {EndS: 0.06, EndNS: 0, Computing: 2, Running: 2}, {EndS: 0.1, EndNS: 40e6, Computing: 1, Running: 2}}
	return tl, r
}

// An initialization that takes most of a run is not what is seen first, and a moment in which all clients run does not flatten the rest.
func TestTheStartDoesNotHideTheRun(t *testing.T) {
	b, address := open(t, slowStart)
	b.Do(writes)
	require.Contains(t, b.Text("#detail"), "The view begins after all clients had initialized")
	b.Click("#critical") // it draws again
	amounts(b, 0, 0, 1, 1)
	first := func() string {
		return browser.Eval[string](b, `window.written.find((w) => w.y === 64 + 12).text`)
	}
	require.InDelta(t, 60e6, nanoseconds(t, first()), 6e6)
	require.Equal(t, "2.00", browser.Eval[string](b, `window.written.find((w) => w.y === 14).text`), "the scale of how many run at once")
	right := amounts(b, plotLeft+500, 12, 400, 52) // of the part above the axis
	require.InDelta(t, 0.5, float64(right["#2f6bdb"])/(400*52), 0.05, "one of two computes")
	require.InDelta(t, 0.5, float64(right["#c3cad6"])/(400*52), 0.05)
	b.Click("#zoom-all")
	amounts(b, 0, 0, 1, 1)
	require.Equal(t, "0", first())
	require.Equal(t, "2.00", browser.Eval[string](b, `window.written.find((w) => w.y === 14).text`))
	require.Empty(t, b.Complaints(address))
}
