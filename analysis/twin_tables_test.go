package analysis_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/analysis/report"
	"metasim/analysis/trace"
	"metasim/metasim"
	"metasim/record/journal"
)

// The tables are sums over what a timeline keeps, and over what the journal says.
func TestTablesAreSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawRoughWorld(t)
		tl, err := trace.Read(record(t, w))
		require.NoError(t, err)
		r := report.New(tl)
		checkClients(t, tl, r)
		checkReports(t, w.entries, r)
		checkLinks(t, w.entries, tl, r)
		checkPromises(t, w.entries, r)
	})
}

// checkClients sums up grants.
func checkClients(t require.TestingT, tl *trace.Timeline, r *report.Report) {
	n := len(tl.Names)
	grants, released, held, blocked := make([]uint64, n), make([]uint64, n), make([]int64, n), make([]int64, n)
	blame := map[report.BlameReport]int64{}
	for _, g := range tl.Grants {
		grants[g.Client]++
		blocked[g.Client] += g.Granted - g.Polled
		if g.Cause != g.Client {
			released[g.Cause]++
		}
		for _, h := range tl.Holds[g.Holds[0]:g.Holds[1]] {
			held[h.Root] += h.End - h.Begin
			blame[report.BlameReport{Waiting: tl.Names[g.Client], HeldBy: tl.Names[h.Root]}] += h.End - h.Begin
		}
	}
	for i, c := range r.Clients {
		require.Equal(t, grants[i], c.Grants)
		require.Equal(t, released[i], c.Released)
		require.Equal(t, seconds(held[i]), c.HeldS)
		require.Equal(t, seconds(blocked[i]), c.BlockedS)
	}
	require.Len(t, r.Blame, len(blame))
	for i, b := range r.Blame {
		require.Equal(t, seconds(blame[report.BlameReport{Waiting: b.Waiting, HeldBy: b.HeldBy}]), b.BlockedS)
		require.True(t, i == 0 || b.BlockedS <= r.Blame[i-1].BlockedS, "the longest first")
	}
}

// checkReports counts what clients said and were told.
func checkReports(t require.TestingT, entries []journal.Entry, r *report.Report) {
	n := len(r.Clients)
	reports, sends, delivered := make([]uint64, n), make([]uint64, n), make([]uint64, n)
	for _, e := range entries {
		switch ev := e.Event.(type) {
		case *metasim.Promise:
			reports[ev.Client]++
		case *metasim.Advance:
			reports[ev.Client]++
		case *metasim.PollWait:
			reports[ev.Client]++
		case *metasim.Send:
			sends[ev.Client]++
		}
		for _, effect := range e.Effects {
			if d, ok := effect.(*metasim.Deliver); ok {
				delivered[d.To]++
			}
		}
	}
	for i, c := range r.Clients {
		require.Equal(t, []uint64{reports[i], sends[i], delivered[i]}, []uint64{c.Reports, c.Sends, c.Delivered})
		require.InDelta(t, float64(reports[i]), c.ReportsPerGrant*float64(c.Grants), 1e-6)
	}
}

// checkLinks looks at every message of each link, and at every hold behind it.
func checkLinks(t require.TestingT, entries []journal.Entry, tl *trace.Timeline, r *report.Report) {
	type name struct{ from, to, channel string }
	rows := map[name]*report.LinkReport{}
	row := func(from, to metasim.ClientID, channel string) *report.LinkReport {
		key := name{tl.Names[from], tl.Names[to], channel}
		if rows[key] == nil {
			rows[key] = &report.LinkReport{ObservedNS: -1, ReactionNS: -1}
		}
		return rows[key]
	}
	handled := make([][]metasim.Instant, len(tl.Names)) // when messages were due, of those that were given
	reactions := map[name]int64{}
	for _, e := range entries {
		if s, ok := e.Event.(*metasim.Send); ok {
			for _, due := range handled[s.Client] {
				key := name{from: tl.Names[s.Client], channel: s.Channel}
				reaction := int64(s.Sent.Time - due.Time)
				if least, known := reactions[key]; !s.Sent.Before(due) && (!known || reaction < least) {
					reactions[key] = reaction
				}
			}
		}
		for _, effect := range e.Effects {
			switch x := effect.(type) {
			case *metasim.Lose:
				l := row(x.Message.From, x.To, x.Message.Channel)
				l.Messages, l.Lost, l.Bytes = l.Messages+1, l.Lost+1, l.Bytes+uint64(len(x.Message.Payload))
			case *metasim.Queue:
				l := row(x.Message.From, x.To, x.Message.Channel)
				l.Messages, l.Bytes = l.Messages+1, l.Bytes+uint64(len(x.Message.Payload))
				if took := int64(x.Message.Due.Time - x.Message.Sent.Time); l.ObservedNS < 0 || took < l.ObservedNS {
					l.ObservedNS = took
				}
			case *metasim.Deliver:
				handled[x.To] = append(handled[x.To], x.Message.Due)
			}
		}
	}
	held := map[name]int64{}
	for _, h := range tl.Holds {
		if h.Path < 0 {
			continue
		}
		for _, hop := range tl.Paths[h.Path] {
			row(hop.From, hop.To, hop.Channel)
			held[name{tl.Names[hop.From], tl.Names[hop.To], hop.Channel}] += h.End - h.Begin
		}
	}
	require.Len(t, r.Links, len(rows))
	for _, l := range r.Links {
		want := rows[name{l.From, l.To, l.Channel}]
		require.NotNil(t, want, l)
		want.HeldS = seconds(held[name{l.From, l.To, l.Channel}])
		if reaction, known := reactions[name{from: l.From, channel: l.Channel}]; known {
			want.ReactionNS = reaction
		}
		got := report.LinkReport{Messages: l.Messages, Lost: l.Lost, Bytes: l.Bytes, ObservedNS: l.ObservedNS, ReactionNS: l.ReactionNS, HeldS: l.HeldS}
		require.Equal(t, *want, got, l)
	}
}

// checkPromises compares what each report promised with the first send after it.
func checkPromises(t require.TestingT, entries []journal.Entry, r *report.Report) {
	for i, c := range r.Clients {
		var could, promised, announced float64
		for k, e := range entries {
			report, next := said(e.Event, i)
			if report == nil {
				continue
			}
			floor := report.NoSendBefore.Time
			if poll, ok := e.Event.(*metasim.PollWait); ok && !poll.Messages {
				floor = max(floor, poll.Want.Time) // nothing wakes it before that
			}
			for _, later := range entries[k+1:] {
				if again, _ := said(later.Event, i); again != nil && next {
					next = false // from now on another report says what it promises
				}
				if p, ok := later.Event.(*metasim.Promise); ok && int(p.Client) == i && next {
					floor = max(floor, p.NoSendBefore.Time)
				}
				if send, ok := later.Event.(*metasim.Send); ok && int(send.Client) == i {
					until := func(bound metasim.Time) float64 { return float64(max(0, min(bound, send.Sent.Time)-report.Now.Time)) }
					could += until(send.Sent.Time) // it could have sent, and did not
					promised += until(floor)
					announced += until(max(floor, report.NextEvent.Time))
					break
				}
			}
		}
		require.InDelta(t, ratio(promised, could), c.PromisedShare, 1e-9, c.Name)
		require.InDelta(t, ratio(announced, could), c.AnnouncedShare, 1e-9, c.Name)
	}
}

// said returns the report in an event of a client, if there is one.
func said(ev metasim.Event, client int) (r *metasim.Report, ok bool) {
	switch ev := ev.(type) {
	case *metasim.Advance:
		r, ok = &ev.Report, int(ev.Client) == client
	case *metasim.PollWait:
		r, ok = &ev.Report, int(ev.Client) == client
	}
	if !ok {
		return nil, false
	}
	return r, true
}
