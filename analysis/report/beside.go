package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"metasim/analysis/predict"
	"metasim/analysis/trace"
	"metasim/metasim"
)

// A Comparison puts the reports of two runs side by side: A before, B after.
type Comparison struct {
	Format int `json:"format"`
	// Differences are values of the scenarios that are not the same, as in "links[1].delay: 2ms, 5ms".
	Differences []string `json:"differences"`
	// Figures are the numbers of the runs, Clients and Links those of what both have, the greatest change of critical work first.
	Figures []FigurePair `json:"figures"`
	Clients []ClientPair `json:"clients"`
	Links   []LinkPair   `json:"links"`
	OnlyA   []string     `json:"only_a"` // clients
	OnlyB   []string     `json:"only_b"`
	// Changes are the differences that can be predicted, as --what-if writes them. PredictedS is what run A was predicted to take with them; 0:
	// there is no prediction. OffShare is (predicted - measured) / measured.
	Changes    []string `json:"changes"`
	PredictedS float64  `json:"predicted_s"`
	MeasuredS  float64  `json:"measured_s"`
	OffShare   float64  `json:"off_share"`
	// Unpredicted says why there is no prediction, if there are changes.
	Unpredicted string `json:"unpredicted,omitempty"`

	wallA                float64
	coreWaitA, coreWaitB float64
}

// A FigurePair is one number of both runs.
type FigurePair struct {
	Name string  `json:"name"`
	A    float64 `json:"a"`
	B    float64 `json:"b"`
	time bool
}

// A ClientPair is what both runs were for one client.
type ClientPair struct {
	Name      string  `json:"name"`
	WorkA     float64 `json:"work_a_s"`
	WorkB     float64 `json:"work_b_s"`
	CriticalA float64 `json:"critical_a_s"`
	CriticalB float64 `json:"critical_b_s"`
	BlockedA  float64 `json:"blocked_a_s"`
	BlockedB  float64 `json:"blocked_b_s"`
}

// A LinkPair is what both runs were for one link.
type LinkPair struct {
	From    string  `json:"from"`
	To      string  `json:"to"`
	Channel string  `json:"channel"`
	DelayA  int64   `json:"declared_delay_a_sim_ns"`
	DelayB  int64   `json:"declared_delay_b_sim_ns"`
	HeldA   float64 `json:"held_a_s"`
	HeldB   float64 `json:"held_b_s"`

	critical float64 // the greater of both
}

// Compare compares the reports of two runs, and what was predicted of the first one with what the second one took. m is the model of
// the first one, delays are those of the second; differences are those of the scenarios. rules are the same as changes, where each difference of
// the links is another delay of a rule; else nil.
func Compare(a, b *Report, m *predict.Model, delays metasim.Delays, differences, rules []string) *Comparison {
	c := &Comparison{Format: 1, Differences: differences, Clients: []ClientPair{}, Links: []LinkPair{}, OnlyA: []string{}, OnlyB: []string{},
		Changes: []string{}, MeasuredS: b.WallS, wallA: a.WallS, coreWaitA: a.CoreWaitS, coreWaitB: b.CoreWaitS}
	c.Figures = []FigurePair{
		{"wall clock", a.WallS, b.WallS, true}, {"work", a.WorkS, b.WorkS, true},
		{"critical path, messages alone", a.CriticalIdealS, b.CriticalIdealS, true},
		{"critical path, with the protocol", a.CriticalConservativeS, b.CriticalConservativeS, true},
		{"waiting for a core", a.CoreWaitS, b.CoreWaitS, true},
		{"parallelism", a.Parallelism, b.Parallelism, false}, {"price of lookahead", a.LookaheadPrice, b.LookaheadPrice, false},
		{"price of the machine", a.CorePrice, b.CorePrice, false}, {"cores", float64(a.Cores), float64(b.Cores), false},
		{"grants", float64(a.Grants), float64(b.Grants), false}, {"frames/grant", a.FramesPerGrant, b.FramesPerGrant, false},
	}
	c.clients(a, b)
	c.links(a, b, delays)
	c.changes(a, b, c.delays(m, rules))
	var all []predict.Change
	for _, text := range c.Changes {
		change, err := m.Parse(text)
		if err != nil {
			return c // a name that cannot be written in a change
		}
		all = append(all, change)
	}
	if len(c.OnlyA)+len(c.OnlyB) > 0 {
		c.Unpredicted = "the runs do not have the same clients"
		return c
	}
	if len(all) > 0 && !a.Paced() && !b.Paced() {
		p, err := m.Predict(all...)
		if err != nil {
			c.Unpredicted = err.Error()
			return c
		}
		c.PredictedS, c.OffShare = p.WallS, trace.Ratio(p.WallS-b.WallS, b.WallS)
	}
	return c
}

func (c *Comparison) clients(a, b *Report) {
	of := map[string]*ClientReport{}
	for i := range b.Clients {
		of[b.Clients[i].Name] = &b.Clients[i]
	}
	for i := range a.Clients {
		x := &a.Clients[i]
		y := of[x.Name]
		if y == nil {
			c.OnlyA = append(c.OnlyA, x.Name)
			continue
		}
		delete(of, x.Name)
		c.Clients = append(c.Clients, ClientPair{x.Name, x.WorkS, y.WorkS, x.CriticalS, y.CriticalS, x.BlockedS, y.BlockedS})
	}
	for i := range b.Clients {
		if of[b.Clients[i].Name] != nil {
			c.OnlyB = append(c.OnlyB, b.Clients[i].Name)
		}
	}
	changed := func(p *ClientPair) float64 { return math.Abs(p.CriticalB - p.CriticalA) }
	slices.SortStableFunc(c.Clients, func(x, y ClientPair) int { return cmp.Compare(changed(&y), changed(&x)) })
}

// links compares the links that the reports have. Over a link that the second one does not have no message went, and nobody waited.
func (c *Comparison) links(a, b *Report, delays metasim.Delays) {
	both := map[string]bool{}
	for i := range c.Clients {
		both[c.Clients[i].Name] = true
	}
	type name struct{ from, to, channel string }
	of := map[name]*LinkReport{}
	for i := range b.Links {
		l := &b.Links[i]
		of[name{l.From, l.To, l.Channel}] = l
	}
	for i := range a.Links {
		x := &a.Links[i]
		if !both[x.From] || !both[x.To] {
			continue
		}
		y := of[name{x.From, x.To, x.Channel}]
		if y == nil {
			y = &LinkReport{DeclaredNS: int64(trace.LeastDelay(delays, x.From, x.To, x.Channel))}
		}
		c.Links = append(c.Links, LinkPair{x.From, x.To, x.Channel, x.DeclaredNS, y.DeclaredNS, x.HeldS, y.HeldS, max(x.CriticalS, y.CriticalS)})
	}
	changed := func(l *LinkPair) float64 { return math.Abs(l.HeldB - l.HeldA) }
	slices.SortStableFunc(c.Links, func(x, y LinkPair) int {
		return cmp.Or(cmp.Compare(changed(&y), changed(&x)), cmp.Compare(y.critical, x.critical))
	})
}

// sameSpeed is by which factor the work of a client may differ without being a change of its speed: work differs from run to run.
const sameSpeed = 1.25

// changes writes what differs as changes of run A: delays, reaction times, cores, the transport, and the speed of clients whose work differs by much.
func (c *Comparison) changes(a, b *Report, delays []string) {
	c.Changes = append(c.Changes, delays...)
	reactions := map[string]int64{}
	for i := range b.Clients {
		reactions[b.Clients[i].Name] = b.Clients[i].ReactionNS
	}
	for i := range a.Clients {
		x := &a.Clients[i]
		if y, known := reactions[x.Name]; known && y != x.ReactionNS {
			c.Changes = append(c.Changes, fmt.Sprintf("client(%s).reaction=%v", x.Name, metasim.Time(y)))
		}
	}
	for i := range c.Clients {
		p := &c.Clients[i]
		ratio := trace.Ratio(p.WorkA, p.WorkB)
		if p.WorkA > leastCost*a.WallS && p.WorkB > 0 && (ratio > sameSpeed || ratio < 1/sameSpeed) {
			c.Changes = append(c.Changes, fmt.Sprintf("client(%s).speed=%.3g", p.Name, ratio))
		}
	}
	if a.Cores != b.Cores && b.Cores > 0 {
		c.Changes = append(c.Changes, fmt.Sprintf("cores=%d", b.Cores))
	}
	if a.Transport != b.Transport && a.Transport != "" && b.Transport != "" {
		c.Changes = append(c.Changes, "transport="+b.Transport)
	}
}

// delays writes the delays that differ: as those of rules, where these are fewer changes, and each decides about a link.
func (c *Comparison) delays(m *predict.Model, rules []string) []string {
	links := c.linkDelays()
	cannot := func(rule string) bool { _, err := m.Parse(rule); return err != nil }
	if len(rules) == 0 || len(rules) >= len(links) || slices.ContainsFunc(rules, cannot) {
		return links
	}
	return rules
}

// linkDelays writes the delays that differ: as one change, or one for each channel, where all links there have the same.
func (c *Comparison) linkDelays() (all []string) {
	alike := func(links []LinkPair) bool {
		return !slices.ContainsFunc(links, func(l LinkPair) bool { return l.DelayB != links[0].DelayB })
	}
	differ := func(l LinkPair) bool { return l.DelayA != l.DelayB }
	if !slices.ContainsFunc(c.Links, differ) {
		return nil
	}
	if alike(c.Links) {
		return []string{fmt.Sprintf("link(*->*).delay=%v", metasim.Time(c.Links[0].DelayB))}
	}
	links := slices.Clone(c.Links)
	slices.SortStableFunc(links, func(x, y LinkPair) int { return strings.Compare(x.Channel, y.Channel) })
	for len(links) > 0 {
		n := 1
		for n < len(links) && links[n].Channel == links[0].Channel {
			n++
		}
		channel := links[:n]
		links = links[n:]
		switch {
		case !slices.ContainsFunc(channel, differ):
		case alike(channel):
			all = append(all, fmt.Sprintf("link(*->*:%s).delay=%v", channel[0].Channel, metasim.Time(channel[0].DelayB)))
		default:
			for _, l := range channel {
				if differ(l) {
					all = append(all, fmt.Sprintf("link(%s->%s:%s).delay=%v", l.From, l.To, l.Channel, metasim.Time(l.DelayB)))
				}
			}
		}
	}
	return all
}

// verdict says which run was faster.
func (c *Comparison) verdict() string {
	by := trace.Ratio(c.wallA-c.MeasuredS, c.wallA)
	switch {
	case c.wallA == 0 || c.MeasuredS == 0:
		return "one of the runs ended before all clients had joined"
	case by >= 0.005:
		return fmt.Sprintf("B takes %s less: %s instead of %s", percent(by), Span(c.MeasuredS), Span(c.wallA))
	case by <= -0.005:
		return fmt.Sprintf("B takes %s more: %s instead of %s", percent(-by), Span(c.MeasuredS), Span(c.wallA))
	}
	return "both take the same: " + Span(c.MeasuredS)
}

// judgement says whether the prediction was right.
func (c *Comparison) judgement() string {
	switch {
	case len(c.Changes) == 0:
		return "Nothing that differs can be predicted: no delay, reaction time, speed, number of cores or transport."
	case c.PredictedS == 0:
		return fmt.Sprintf("No prediction of %s: %s", strings.Join(c.Changes, " "), cmp.Or(c.Unpredicted, "the pace of a run decides, or a name cannot be written"))
	}
	right, busy := "Yes, within", ""
	if math.Abs(c.OffShare) > 0.1 {
		right, busy = "No, it is off by", c.busy()
	}
	return fmt.Sprintf("Was the prediction right? %s %.0f %%: A was predicted to take %s with these changes, and B took %s: %s.%s",
		right, 100*math.Abs(c.OffShare), Span(c.PredictedS), Span(c.MeasuredS), strings.Join(c.Changes, " "), busy)
}

// busy says that something else may have had the cores, where the clients of one run waited much longer for one.
func (c *Comparison) busy() string {
	less, more := c.coreWaitA, c.coreWaitB
	if math.Abs(more-less) < 0.1*c.MeasuredS {
		return ""
	}
	return fmt.Sprintf(" The clients of A waited for a core for %s, those of B for %s: something else may have had the cores, so that the runs cannot be compared well.",
		Span(less), Span(more))
}

// WriteText prints the comparison as text.
func (c *Comparison) WriteText(w io.Writer, style Style) error {
	style.Width = max(style.Width, 40)
	p := &printer{Style: style}
	c.differing(p)
	p.wrap(strong, "", "  ", c.verdict()+".")
	p.wrap(normal, "", "  ", c.judgement())
	c.tables(p)
	_, err := io.WriteString(w, p.String())
	return err
}

// differing says in what the runs are not the same: in their scenarios, and in their clients.
func (c *Comparison) differing(p *printer) {
	title := "The scenarios differ:"
	if len(c.Differences) == 0 {
		title = "The scenarios are the same."
	}
	p.say("%s", title)
	for _, d := range c.Differences[:min(len(c.Differences), maxRows)] {
		p.wrap(normal, "  ", "    ", d)
	}
	if more := len(c.Differences) - maxRows; more > 0 {
		p.wrap(normal, "  ", "    ", fmt.Sprintf("... and %d more: see --json", more))
	}
	for _, only := range []struct {
		run   string
		names []string
	}{{"A", c.OnlyA}, {"B", c.OnlyB}} {
		if len(only.names) > 0 {
			p.wrap(normal, "", "  ", fmt.Sprintf("Only %s has %s.", only.run, strings.Join(only.names[:min(len(only.names), maxRows)], ", ")))
		}
	}
	if len(c.OnlyA)+len(c.OnlyB) > 0 {
		p.say("The clients that both have are compared. The numbers of the runs are those of all their clients.")
	}
}

func (c *Comparison) tables(p *printer) {
	t := table{title: "The runs", columns: []column{{word: true}, {head: "A"}, {head: "B"}, {head: "B / A", rank: 1}}}
	for _, f := range c.Figures {
		write := Number
		if f.time {
			write = Span
		}
		t.add(f.Name, write(f.A), write(f.B), times(f.A, f.B))
	}
	t.write(p)
	t = table{title: "Clients, the greatest change of critical work first", more: len(c.Clients) - maxRows, columns: []column{
		{head: "client", word: true}, {head: "critical A", tone: bad}, {head: "B", tone: bad}, {head: "work A", rank: 1}, {head: "B", rank: 1},
		{head: "blocked A", rank: 2}, {head: "B", rank: 2},
	}}
	for _, x := range c.Clients[:min(len(c.Clients), maxRows)] {
		t.addSlight(max(x.CriticalA/c.wallA, x.CriticalB/c.MeasuredS) < leastCritical, x.Name, Span(x.CriticalA), Span(x.CriticalB), Span(x.WorkA), Span(x.WorkB), Span(x.BlockedA), Span(x.BlockedB))
	}
	t.write(p)
	t = table{title: "Links, the greatest change of waiting first", more: len(c.Links) - maxRows, columns: []column{
		{head: "link", word: true}, {head: "channel", word: true, rank: 2}, {head: "held A"}, {head: "B"}, {head: "delay A", rank: 1}, {head: "B", rank: 1},
	}}
	for _, l := range c.Links[:min(len(c.Links), maxRows)] {
		t.add(l.From+" -> "+l.To, l.Channel, Span(l.HeldA), Span(l.HeldB), lookahead(l.DelayA), lookahead(l.DelayB))
	}
	if len(c.Links) > 0 {
		t.write(p)
	}
}

// times writes how many times as much the second number is.
func times(a, b float64) string {
	if a == 0 {
		return "-"
	}
	return Number(b / a)
}
