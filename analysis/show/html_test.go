package show

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/analysis/predict"
	"metasim/analysis/report"
	"metasim/analysis/trace"
	"metasim/internal/golden"
	"metasim/metasim"
)

// The page of a run that does not change, without its style and its script, which are files in page/.
func TestGoldenPage(t *testing.T) {
	page := pageOf(t, robot)
	require.Equal(t, page, pageOf(t, robot), "the same run makes the same page")
	for what, names := range map[string][]string{"STYLE": {"style.css"}, "SCRIPT": scripts} {
		text, err := join(names...)
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(page, text))
		page = strings.Replace(page, text, what, 1)
	}
	golden.Equal(t, "testdata/robot.html", page)
}

func pageOf(t *testing.T, run func(testing.TB) (*trace.Timeline, *report.Report)) string {
	t.Helper()
	tl, r := run(t)
	var b bytes.Buffer
	require.NoError(t, HTML(&b, tl, r))
	return b.String()
}

// What the page is told, read back.
func dataOf(t *testing.T, page string) (d data) {
	t.Helper()
	_, rest, ok := strings.Cut(page, `<script type="application/json" id="data">`)
	require.True(t, ok)
	text, _, ok := strings.Cut(rest, "</script>")
	require.True(t, ok)
	require.NoError(t, json.Unmarshal([]byte(text), &d))
	return d
}

// A page may be sent on, opened on a plane, and kept for years.
func TestAPageNeedsNothingElse(t *testing.T) {
	page := pageOf(t, robot)
	for _, outside := range []string{"src=", "href=", "url(", "@import", "fetch(", "import("} {
		require.NotContains(t, page, outside)
	}
	for _, address := range strings.Split(page, "http://")[1:] {
		require.True(t, strings.HasPrefix(address, "www.w3.org/2000/svg'"), address[:40]) // the name of a language
	}
	require.NotContains(t, page, "https://")
}

const evil = `</script><script>window.broken = 1</script><img src=x onerror="window.broken = 2">`

// rude is the robot with names that would like to be more than that.
func rude(t testing.TB) (*trace.Timeline, *report.Report) {
	tl, r := robot(t)
	text, err := json.Marshal(r)
	require.NoError(t, err)
	name, err := json.Marshal(evil)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(bytes.ReplaceAll(text, []byte(`"planner"`), name), r))
	r.Scenario = evil
	tl.Names[3] = evil
	tl.Channels[0] = evil
	r.WhatIfs = append(r.WhatIfs, predict.Prediction{Change: "client(" + evil + ").speed=2", WallS: 0.01})
	r.Advice = append(r.Advice, report.Advice{Text: evil})
	return tl, r
}

func TestNamesAreNoMarkup(t *testing.T) {
	page := pageOf(t, rude)
	require.Equal(t, 2, strings.Count(page, "<script"), "the data, and the script")
	require.NotContains(t, page, "<img")
	d := dataOf(t, page)
	require.Contains(t, d.Names, evil)
}

// long is a run of n grants of k clients, more than a page can draw one by one.
func long(n, k int) (*trace.Timeline, *report.Report) {
	rng := rand.New(rand.NewPCG(1, 2))
	tl := &trace.Timeline{Begin: 1000, Channels: []string{"STATE", "COMMAND"}}
	r := &report.Report{Scenario: "long", Grants: uint64(n)}
	last := make([]int64, k)
	critical := int64(0) // the end of the path
	for i := range k {
		tl.Names = append(tl.Names, "client-with-a-usual-name-"+strconv.Itoa(i))
		r.Clients = append(r.Clients, report.ClientReport{Name: tl.Names[i], HeldS: rng.Float64()})
		last[i] = tl.Begin
		for j := range k {
			if len(r.Links) < 5000 {
				r.Links = append(r.Links, report.LinkReport{From: tl.Names[i], To: "client-" + strconv.Itoa(j), Channel: "STATE"})
			}
		}
	}
	for range 20_000 {
		var path []metasim.Hop
		for range 4 {
			path = append(path, metasim.Hop{From: metasim.ClientID(rng.IntN(k)), To: metasim.ClientID(rng.IntN(k)), Channel: "STATE", Min: 1e6})
		}
		tl.Paths = append(tl.Paths, path)
	}
	for i := range n {
		c := i % k
		g := trace.Grant{Client: metasim.ClientID(c), Cause: metasim.ClientID(rng.IntN(k)), Polled: last[c]}
		g.Granted = g.Polled + rng.Int64N(50_000)
		g.Work = rng.Int64N(80_000)
		g.Reported = g.Granted + g.Work + rng.Int64N(10_000)
		if end := min(g.Granted+rng.Int64N(90_000), g.Granted+g.Work); g.Granted >= critical && end > g.Granted {
			critical, g.Critical = end, end-g.Granted
			tl.Critical = append(tl.Critical, trace.Part{Client: g.Client, Begin: g.Granted, End: end})
		}
		g.From = metasim.At(metasim.Time(i) * 123_457)
		g.Holds = [2]int32{int32(len(tl.Holds)), int32(len(tl.Holds) + 1)}
		tl.Holds = append(tl.Holds, trace.Hold{Begin: g.Polled, End: g.Granted, Root: g.Cause, Path: rng.Int32N(20_000)})
		last[c] = g.Reported
		tl.Grants = append(tl.Grants, g)
		tl.Messages = append(tl.Messages, trace.Message{
			LinkID: trace.LinkID{From: g.Client, To: metasim.ClientID(rng.IntN(k))}, Sent: g.From, Due: g.From.Add(1e6), Queued: g.Reported, Delivered: g.Reported + 100_000,
		})
		tl.End = max(tl.End, g.Reported)
	}
	return tl, r
}

// Whatever the run was, the page can be sent by mail; and whatever is put together, nothing is lost of the critical path,
// of the work and of the waiting.
func TestAPageStaysSmall(t *testing.T) {
	for clients, grants := range map[int]int{2: 200_000, 60: 1_000_000, 5000: 200_000} {
		t.Run(strconv.Itoa(clients), func(t *testing.T) {
			tl, r := long(grants, clients)
			page := pageOf(t, func(testing.TB) (*trace.Timeline, *report.Report) { return tl, r })
			require.Less(t, len(page), 5_000_000)
			t.Logf("%d bytes", len(page))

			var want, got piece
			for _, g := range tl.Grants {
				want.sum(piece{wait: g.Granted - g.Polled, work: g.Work, grants: 1, critical: g.Critical})
			}
			n := 0
			for _, row := range pieces(tl, maxPieces) {
				n += len(row)
				for i, p := range row {
					got.sum(p)
					require.LessOrEqual(t, p.wait+p.work, p.end-p.begin)
					require.True(t, i == 0 || row[i-1].end <= p.begin, "pieces overlap")
				}
			}
			require.Equal(t, want, got)
			checkRed(t, tl, dataOf(t, page))
			require.LessOrEqual(t, n, maxPieces)
			require.Greater(t, n, maxPieces/10, "there is room for more")
		})
	}
}

// checkRed checks that what is drawn red is the critical path, of each client that has a lane.
func checkRed(t *testing.T, tl *trace.Timeline, d data) {
	red, want, at := map[string]int64{}, map[string]int64{}, int64(0)
	for c := d.Critical; len(c) > 0; c = c[4:] {
		require.GreaterOrEqual(t, c[1], int64(0))
		at += c[1]
		require.LessOrEqual(t, c[3], c[2])
		red[d.Names[c[0]]] += c[3]
	}
	require.Less(t, at, tl.Wall())
	require.LessOrEqual(t, len(d.Critical)/4, max(maxCritical, len(tl.Names)))
	for _, p := range tl.Critical {
		if name := tl.Names[p.Client]; slices.Contains(d.Names[:len(d.Lanes)], name) {
			want[name] += p.End - p.Begin
		}
	}
	require.NotEmpty(t, want)
	require.Equal(t, want, red)
}

func (p *piece) sum(q piece) {
	p.wait += q.wait
	p.work += q.work
	p.grants += q.grants
	p.critical += q.critical
}

// A short run is drawn grant by grant, with all holds.
func TestAShortRunIsDrawnGrantByGrant(t *testing.T) {
	tl, _ := robot(t)
	n := 0
	for c, row := range pieces(tl, maxPieces) {
		for _, p := range row {
			require.Equal(t, 1, p.grants)
			g := tl.Grants[indexOf(tl.Grants, c, p.begin)]
			require.Equal(t, g.Reported, p.end)
			require.LessOrEqual(t, len(p.holds), maxHolds)
		}
		n += len(row)
	}
	require.Len(t, tl.Grants, n)
}

func indexOf(grants []trace.Grant, client int, polled int64) int {
	for i, g := range grants {
		if int(g.Client) == client && g.Polled == polled {
			return i
		}
	}
	return -1
}

// A link of few messages keeps them all, however many others have.
func TestMessagesAreSharedFairly(t *testing.T) {
	sizes := []int{10, 500_000, 1_000_000}
	require.Equal(t, 495, share(sizes, 1000))
	require.Equal(t, 1_000_000, share(sizes, 2_000_000))
	require.Equal(t, 0, share(sizes, 2))
}
