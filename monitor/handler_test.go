package monitor_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/monitor"
)

// What needs the token. A page from another site may neither read nor command, however it makes a browser ask.
func TestAccess(t *testing.T) {
	d := open(t, 1, make(chan struct{}))
	d.stuck()
	const bearer = "Bearer sesame"
	d.monitor.Serve("/more/", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		require.Contains(t, []string{"/page", "/do"}, r.URL.Path, "without the prefix")
		w.WriteHeader(http.StatusTeapot)
	}))
	for _, c := range []struct {
		name          string
		access        monitor.Access
		method, path  string
		host          string
		origin, token string
		status        int
	}{
		{"any user of a private socket", monitor.Private, "POST", "/ctl/pause", "run", "", "", 200},
		{"a look", monitor.Loopback, "GET", "/status.json", "127.0.0.1:80", "", "", 200},
		{"a look by name", monitor.Loopback, "GET", "/status.json", "localhost:80", "", "", 200},
		{"a look in IPv6", monitor.Loopback, "GET", "/status.json", "[::1]:80", "", "", 200},
		{"the page's own look", monitor.Loopback, "GET", "/events?limit=x", "localhost:80", "http://localhost:80", "", 400},
		{"a look from a page elsewhere", monitor.Loopback, "GET", "/status.json", "localhost:80", "http://evil.example", "", 403},
		{"a look from a sandbox", monitor.Loopback, "GET", "/status.json", "localhost:80", "null", "", 403},
		{"a name that was bent to this host", monitor.Loopback, "GET", "/status.json", "evil.example:80", "http://evil.example:80", "", 403},
		{"a command", monitor.Loopback, "POST", "/ctl/pause", "localhost:80", "http://localhost:80", bearer, 200},
		{"a command without the token", monitor.Loopback, "POST", "/ctl/pause", "localhost:80", "", "", 401},
		{"a command with another token", monitor.Loopback, "POST", "/ctl/pause", "localhost:80", "", "Bearer guess", 401},
		{"a command from a page elsewhere", monitor.Loopback, "POST", "/ctl/pause", "localhost:80", "http://evil.example", bearer, 403},
		{"a command by a link", monitor.Loopback, "GET", "/ctl/pause", "localhost:80", "", bearer, 405},
		{"a command that there is not", monitor.Loopback, "POST", "/ctl/jump", "localhost:80", "", bearer, 409},
		{"a time where none is wanted", monitor.Loopback, "POST", "/ctl/pause?t=1s", "localhost:80", "", bearer, 409},
		{"the empty page from outside", monitor.Outside, "GET", "/", "10.0.0.1:80", "", "", 200},
		{"a look from outside", monitor.Outside, "GET", "/status.json", "10.0.0.1:80", "", "", 401},
		{"metrics from outside", monitor.Outside, "GET", "/metrics", "10.0.0.1:80", "", "", 401},
		{"a look from outside with the token", monitor.Outside, "GET", "/status.json", "10.0.0.1:80", "http://10.0.0.1:80", bearer, 200},
		{"what is not there", monitor.Loopback, "GET", "/page/index.html", "localhost:80", "", "", 404},
		{"why", monitor.Loopback, "GET", "/why?client=planner", "localhost:80", "", "", 200},
		{"the page of another", monitor.Loopback, "GET", "/more/page", "localhost:80", "", "", 418},
		{"the page of another, from a page elsewhere", monitor.Loopback, "GET", "/more/page", "localhost:80", "http://evil.example", "", 403},
		{"what another takes, without the token", monitor.Loopback, "POST", "/more/do", "localhost:80", "", "", 401},
		{"what another takes", monitor.Loopback, "POST", "/more/do", "localhost:80", "", bearer, 418},
		{"the page of another, from outside", monitor.Outside, "GET", "/more/page", "10.0.0.1:80", "", "", 401},
		{"the page of another, from outside with the token", monitor.Outside, "GET", "/more/page", "10.0.0.1:80", "", bearer, 418},
		{"why of an unknown client", monitor.Loopback, "GET", "/why?client=nobody", "localhost:80", "", "", 404},
	} {
		r := httptest.NewRequest(c.method, c.path, nil)
		r.Host = c.host
		r.Header.Set("Origin", c.origin)
		r.Header.Set("Authorization", c.token)
		w := httptest.NewRecorder()
		d.monitor.Handler(c.access, d.token).ServeHTTP(w, r)
		require.Equal(t, c.status, w.Code, "%s: %s", c.name, w.Body)
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest("POST", "/ctl/pause", nil)
	r.Host = "localhost"
	r.Header.Set("Authorization", "Bearer ")
	d.monitor.Handler(monitor.Loopback, "").ServeHTTP(w, r)
	require.Equal(t, 401, w.Code, "an empty token is no token")
}

func TestAccessOf(t *testing.T) {
	for addr, want := range map[string]monitor.Access{
		":80": monitor.Loopback, "127.0.0.1:0": monitor.Loopback, "127.8.8.8:1": monitor.Loopback, "[::1]:80": monitor.Loopback, "localhost:80": monitor.Loopback,
		"0.0.0.0:80": monitor.Outside, "[::]:80": monitor.Outside, "10.0.0.1:80": monitor.Outside, "example.org:80": monitor.Outside,
		"localhost.evil.example:80": monitor.Outside,
	} {
		access, listen, err := monitor.AccessOf(addr)
		require.NoError(t, err)
		require.Equal(t, want, access, addr)
		if addr == ":80" {
			require.Equal(t, "127.0.0.1:80", listen)
		}
	}
	for _, addr := range []string{"", "80", "localhost", "localhost:", "::1"} {
		_, _, err := monitor.AccessOf(addr)
		require.ErrorContains(t, err, "use host:port", addr)
	}
}

// What is shown is what the server knows.
func TestStatus(t *testing.T) {
	d := open(t, 3, make(chan struct{}))
	site := d.show()
	d.stuck()
	get := func(path string) string {
		response, err := http.Get(site.URL + path)
		require.NoError(t, err)
		text, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		require.Equal(t, 200, response.StatusCode, "%s", text)
		return string(text)
	}
	require.Eventually(t, func() bool { return strings.Contains(get("/status.json"), `"slowest":"camera"`) }, patience, wink)
	var v monitor.View
	require.NoError(t, json.Unmarshal([]byte(get("/status.json")), &v))
	require.Equal(t, "depot", v.Scenario)
	require.Equal(t, "running", v.State)
	require.Equal(t, 1.1, v.Now.Seconds)
	require.Equal(t, 3.0, v.End.Seconds)
	require.Equal(t, map[string]int{"computing": 1, "waiting": 4}, v.States)
	require.Equal(t, "camera", v.Clients[0].Name, "who holds up the others comes first; who did so for a moment before may be next")
	slices.SortFunc(v.Clients, func(a, b monitor.Client) int { return strings.Compare(a.Name, b.Name) })
	camera, planner, robot := v.Clients[0], v.Clients[1], v.Clients[2]
	require.Equal(t, uint64(11), camera.Sent, "eleven frames came before the one it works on")
	require.Empty(t, camera.Holder)
	require.Equal(t, "planner", planner.Name)
	require.Equal(t, "camera", planner.Holder)
	require.Nil(t, planner.Want, "it waits for messages alone")
	require.Equal(t, "robot-0", robot.Name)
	require.Equal(t, "planner", robot.Holder)
	require.Equal(t, "camera", robot.Root)
	require.Equal(t, "1.21s", robot.Want.Text)
	require.Equal(t, "1.204s", robot.Safe.Text)
	require.Equal(t, []string{
		"planner at 1.102s waits for camera: camera has its next event at 1.2s, + 2ms of delay on IMAGE",
	}, v.Chain[:1])

	require.NoError(t, json.Unmarshal([]byte(get("/status.json?filter=ROBOT+wait&limit=2")), &v))
	require.Len(t, v.Clients, 2)
	require.Equal(t, 3, v.Matching)
	require.Equal(t, 5, v.Count)

	metrics := get("/metrics")
	for _, line := range []string{
		"metasim_simulated_seconds 1.1", `metasim_clients{state="waiting"} 4`, `metasim_client_messages_sent_total{client="camera"} 11`,
		`metasim_client_simulated_seconds{client="planner"} 1.102`, "# TYPE metasim_grants_total counter", "metasim_paused 0",
		`metasim_run_info{scenario="depot",seed="1"} 1`, "metasim_end_simulated_seconds 3", "# TYPE metasim_held_seconds_total counter",
		"# TYPE metasim_eta_seconds gauge",
	} {
		require.Contains(t, metrics, line+"\n")
	}
	problems, err := promlint.New(strings.NewReader(metrics)).Lint()
	require.NoError(t, err)
	require.Empty(t, problems, "what promtool would complain of")
}

// Events go on until the run is over, and the last one says so.
func TestEvents(t *testing.T) {
	cue := make(chan struct{})
	d := open(t, 2, cue)
	site := d.show()
	response, err := http.Get(site.URL + "/events")
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	require.Equal(t, "text/event-stream", response.Header.Get("Content-Type"))
	d.stuck()
	close(cue)
	var last monitor.View
	events := 0
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			last = monitor.View{}
			require.NoError(t, json.Unmarshal([]byte(data), &last))
			events++
		}
	}
	require.Equal(t, "over", last.State)
	require.Empty(t, last.Error)
	require.Equal(t, 4, last.States["left"])
	require.GreaterOrEqual(t, events, 2)
	<-d.ended
	require.NoError(t, d.err)
	why, err := d.monitor.Why(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, "the run is over", why)
	_, err = d.monitor.Control("pause", "")
	require.ErrorContains(t, err, "over")
}

// A run is asked from afar as from near.
func TestRemote(t *testing.T) {
	cue := make(chan struct{})
	d := open(t, 2, cue)
	site := d.show()
	d.stuck()
	r, err := monitor.Dial(site.URL+"/#token="+d.token, "")
	require.NoError(t, err)
	why, err := r.Why(t.Context(), "robot-1")
	require.NoError(t, err)
	require.Equal(t, "robot-1 at 1.2s waits for planner: planner may answer at 1.202s a message that it has not received yet, + 2ms of delay on GOAL", why[0])
	require.Contains(t, why[1], "planner at 1.102s waits for camera: ")
	_, err = r.Why(t.Context(), "robot-7")
	require.ErrorContains(t, err, `no client "robot-7"`)
	done, err := r.Control(t.Context(), "until", "2s")
	require.NoError(t, err)
	require.Contains(t, done, "until 2s")
	require.Equal(t, metasim.At(2*metasim.Second), d.Snapshot().Halt.Limit)
	done, err = r.Control(t.Context(), "until", "4s")
	require.NoError(t, err)
	require.Equal(t, "it goes on to its end, at 3s: 4s lies beyond", done)
	stranger, err := monitor.Dial(site.Listener.Addr().String(), "guess")
	require.NoError(t, err)
	_, err = stranger.Control(t.Context(), "pause", "")
	require.ErrorContains(t, err, "token")
	other := httptest.NewServer(http.NotFoundHandler())
	defer other.Close()
	no, err := monitor.Dial(other.URL, "")
	require.NoError(t, err)
	_, err = no.Why(t.Context(), "")
	require.ErrorContains(t, err, "is it a run of metasim?")

	// The answer to a pause says where the run stopped.
	_, err = r.Control(t.Context(), "until", "2s")
	require.NoError(t, err)
	done, err = r.Control(t.Context(), "pause", "")
	require.NoError(t, err)
	require.Equal(t, "paused: no client is authorized any further", done, "the camera is on its way")
	_, err = r.Control(t.Context(), "until", "2s")
	require.NoError(t, err)
	close(cue)
	require.Eventually(t, func() bool { return d.Progress().Still }, patience, wink)
	done, err = r.Control(t.Context(), "pause", "")
	require.NoError(t, err)
	require.Equal(t, "paused at 2s", done)
	done, err = r.Control(t.Context(), "step", "")
	require.NoError(t, err)
	require.Equal(t, "paused at 2.002s", done)
}
