package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/internal/testprogram"
)

// A travelled message is one as who took it says: the hops of its trail, and how long each took.
type travelled struct {
	Kind, Requester, Entity string
	Hops                    int
	Route                   []string
	LatencyNS               []int64 `json:"latency_ns"`
}

// readTravelled reads the messages about an entity in an audit log, or in the events of a simulation server, once each.
func readTravelled(t *testing.T, text, entity string) (all []travelled) {
	for line := range strings.Lines(text) {
		var m struct {
			Event, Entity  string
			Message, Heard *travelled
		}
		require.NoError(t, json.Unmarshal([]byte(line), &m), line)
		is := m.Message
		if m.Event == "heard" {
			is = m.Heard
			is.Entity = m.Entity
		}
		if is == nil || is.Entity != entity || len(is.Route) > 0 || slices.ContainsFunc(all, func(o travelled) bool { return o.Kind == is.Kind && o.Requester == is.Requester }) {
			continue // it is passed on, or said again
		}
		all = append(all, *is)
	}
	return all
}

// encrypted has all homeservers of a world show certificates that one authority of its own has signed.
func (w *liveWorld) encrypted() {
	sign := certifier(w.stage, "ca")
	sign("server", "serverAuth\nsubjectAltName=IP:127.0.0.1")
	w.tls = []string{"--cert", "server.pem", "--key", "server.key", "--homeserver-cert", "ca.pem"}
	w.trust = []string{"--home-cert", "ca.pem"}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(w.read("ca.pem"))
	w.client.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	w.Cleanup(w.client.CloseIdleConnections)
}

// transferred returns the messages of one transfer: the one that asker has asked for. It waits until all processes have written what they heard, which may be after the
// entity has arrived. Messages of an earlier transfer may be sent again, and arrive now: they do not count.
func (w *liveWorld) transferred(home string, from, to int, entity, asker string) (messages []travelled) {
	w.until("all have written what they heard", func() bool {
		messages = readTravelled(w.T, string(w.read(filepath.Join(home, "audit.log"))), entity)
		messages = append(messages, readTravelled(w.T, w.sims[from].out.String(), entity)...)
		messages = append(messages, readTravelled(w.T, w.sims[to].out.String(), entity)...)
		messages = slices.DeleteFunc(messages, func(m travelled) bool { return m.Kind == "ack" || m.Requester != asker }) // it follows
		return len(messages) >= 3
	})
	return messages
}

// Case 1 with two hops from homeserver to homeserver, and case 2, between programs over HTTPS and QUIC: each message has travelled as many hops as in a run, which the
// envelopes of all sum up, and says how long each hop took. Certificates are of an authority of one's own; who does not trust it says so.
func TestLiveCases(t *testing.T) {
	w := &liveWorld{stage: newStage(t), homes: map[string]*exec.Cmd{}, way: []string{"home-a", "hop", "home-b"}}
	w.program = testprogram.Shipped(t)
	w.encrypted()
	w.begin(1)
	for _, c := range []struct {
		args         []string
		from, to     int
		tell, entity string
		home, asker  string
	}{
		{[]string{"--case", "2"}, 2, 3, "take of-sim-c-00", "of-sim-c-00", "home-b", "sim-d"},
		// The ball has gone to the other homeserver's server, which gives it on: its request has two homeservers to pass before that of the entity.
		{[]string{"--case", "1", "--hops", "2"}, 0, 3, "give of-sim-d-00 sim-d", "of-sim-d-00", "home-b", "sim-a"},
	} {
		if w.sims[c.from].name != "sim-c" {
			w.sims[3].tell("give " + c.entity + " " + w.sims[c.from].name)
			w.until("it is with who gives it", func() bool { return slices.Contains(w.sims[c.from].owns(), c.entity) })
			w.transferred(c.home, 3, c.from, c.entity, "sim-d")
			for _, s := range w.sims {
				s.out.clear()
			}
			require.NoError(t, os.Truncate(filepath.Join(w.dir, c.home, "audit.log"), 0))
		}
		began := time.Now().UnixNano()
		asker := w.sims[slices.IndexFunc(w.sims, func(s *homedServer) bool { return s.name == c.asker })]
		asker.tell(c.tell)
		w.until("it is handed over", func() bool { return slices.Contains(w.sims[c.to].owns(), c.entity) })
		ended := time.Now().UnixNano()

		messages := w.transferred(c.home, c.from, c.to, c.entity, c.asker)
		hops, latency := 0, int64(0)
		var kinds []string
		for _, m := range messages {
			kinds = append(kinds, m.Kind)
			hops += m.Hops
			require.Len(t, m.LatencyNS, m.Hops, "%+v", m)
			for _, ns := range m.LatencyNS {
				require.Positive(t, ns)
				latency += ns
			}
		}
		require.Equal(t, []string{"request", "grant", "handover"}, kinds)
		require.LessOrEqual(t, latency, ended-began, "the hops of a transfer follow each other")
		var run struct{ Hops int }
		e := w.metasim(append([]string{"authority", "demo", "--json"}, c.args...)...)
		require.Zero(t, e.status, e.err)
		require.NoError(t, json.Unmarshal([]byte(e.out), &run))
		require.Equal(t, run.Hops, hops, "as many as in a run")
		t.Logf("%v: %d hops in %v", c.args, hops, time.Duration(latency))
	}

	// Another authority has signed what is trusted here.
	certifier(w.stage, "stranger")
	e := w.metasim("authority", "list", "--home", "home-a.url", "--home-token-file", "admin", "--home-cert", "stranger.pem")
	require.Equal(t, 1, e.status)
	e.says(t, "its certificate is not trusted: name the PEM file of who has signed it")
	e = w.metasim("authority", "list", "--home", "home-a.url", "--home-token-file", "admin", "--home-cert", "ca.pem")
	require.Zero(t, e.status, e.err)
	require.Contains(t, e.out, "of-sim-a-00  sim-a  sim-a   allow  0")
	s := w.sims[0]
	s.kill()
	s.more = []string{"--home-cert", "stranger.pem"}
	s.run()
	w.until("it says what is wrong", func() bool { return strings.Contains(s.out.String(), "its certificate is not trusted") })
}

// clear forgets what was written.
func (o *written) clear() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.text.Reset()
}
