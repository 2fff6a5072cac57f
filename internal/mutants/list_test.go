package mutants

// one is a mistake that is made in one place.
func one(name, file, old, new string) mutant {
	return mutant{name: name, edits: []edit{{file, old, new}}}
}

// The mistakes. Those of clients and networks (acting at the grant itself, a second stream, one random stream drawn in
// order of arrival, ...) are planted in the interleaving test of package metasim, by TestInterleavePlanted.
var mutants = []mutant{
	// Safe time, as the tables of a model checker and of other systems have them.
	one("what is due at the safe time is delivered", "settle.go",
		"for c.queue.due().Before(until) {", "for c.queue.len() > 0 && !until.Before(c.queue.due()) {"),
	one("equal times in order of arrival", "message.go",
		"	if c := m.Sent.Compare(n.Sent); c != 0 {", "	if true {\n\t\treturn 0\n\t}\n	if c := m.Sent.Compare(n.Sent); c != 0 {"),
	one("ties by sender before sending time", "message.go",
		"	if c := m.Sent.Compare(n.Sent); c != 0 {",
		"	if c := cmp.Compare(m.From, n.From); c != 0 {\n\t\treturn c\n\t}\n	if c := m.Sent.Compare(n.Sent); c != 0 {"),
	one("no barrier after the epsilon tick", "settle.go",
		"if c := &d.clients[i]; c.state != gone && !c.polled {", "if c := &d.clients[i]; false && !c.polled {"),
	one("zero delay without a step", "instant.go",
		"return Instant{Time: i.Time, Step: i.Step + 1}", "return i"),
	{name: "a leaver's promise is not released", edits: []edit{
		{"safetime.go", "if c.state == gone {", "if false {"},
		{"report.go", "floor: Infinity, next: Infinity,", "floor: c.floor, next: c.next,"},
	}},
	one("conditional promise read as unconditional", "safetime.go",
		"known := Earlier(c.next, pending.React(c.reaction))", "known := c.next"),
	one("conditional promise bounded by the queue only", "safetime.go",
		"if len(c.given) > 0 {", "if false {"),
	one("conditional promise bounded by what was given only", "safetime.go",
		"pending := c.queue.due()", "pending := Infinity"),
	one("deliveries count as handled at the next report", "report.go",
		"if !d.acknowledge(c, r.Acked) {", "c.given, c.ahead = nil, 0\n	if c.acked = c.delivered; false {"),
	one("own echo left out: the least over the others only", "safetime.go",
		"	for range n {\n		i := -1", "	for i := range out {\n		for _, e := range out[i] {\n			if int(e.to) != i {\n				"+
			"safe[e.to] = Earlier(safe[e.to], e.earliest(send[i]))\n			}\n		}\n	}\n	for range 0 {\n		i := -1"),
	one("links to oneself left out", "safetime.go",
		"if !due.Before(safe[e.to]) {", "if !due.Before(safe[e.to]) || int(e.to) == i {"),
	one("only direct links count", "safetime.go",
		"send[e.to] = Earlier(send[e.to], Later(b.floor, due.React(b.reaction)))", "_ = b"),
	one("authorized at the safe time itself", "settle.go",
		"!need.Before(c.safe) && c.safe != d.end", "c.safe.Before(need) && c.safe != d.end"),
	one("authorized whenever somebody polls", "settle.go",
		"!c.granted.Before(c.safe) || !need.Before(c.safe) && c.safe != d.end", "c.safe.Before(c.granted)"),
	one("authorized as soon as there is something to say", "settle.go",
		"|| !need.Before(c.safe) && c.safe != d.end {", "{"),
	one("not told of the end", "settle.go", " && c.safe != d.end {", " {"),
	one("a poll at the end is not answered", "report.go", " || c.granted == d.end", ""),
	one("reaction time added to the floor", "safetime.go",
		"known: Later(floor, known), reaction", "known: Later(floor.React(c.reaction), known), reaction"),
	one("reaction time added to own events", "safetime.go",
		"Earlier(c.next, pending.React(c.reaction))", "Earlier(c.next, pending).React(c.reaction)"),
	one("reaction time not added along paths", "safetime.go", "due.React(b.reaction)", "due"),
	one("promises not heeded along paths", "safetime.go",
		"Later(b.floor, due.React(b.reaction))", "due.React(b.reaction)"),
	one("an idle client is not woken by a message", "settle.go",
		"return Earlier(c.want, c.queue.due())", "return c.want"),
	one("a message moves no safe time", "dispatcher.go", "		d.send(ev)\n", "		d.send(ev)\n		d.dirty = false\n"),
	one("waiting is no promise", "report.go", "		c.asleep = Later(c.asleep, ev.Want)", "		_ = c.asleep"),
	one("a conditional promise can be taken back", "report.go",
		"c.next = Later(promised, Later(floor, r.NextEvent))", "_ = promised\n	c.next = Later(floor, r.NextEvent)"),
	one("a poll that crossed its answer waits for ever", "report.go",
		"answered := ev.Want.Before(c.granted) || ev.Messages && len(c.given) > 0", "answered := false"),

	// Order, time and numbers.
	one("senders ranked in the order in which they are named", "dispatcher.go",
		"c.Clients = slices.Sorted(slices.Values(c.Clients))", "c.Clients = slices.Clone(c.Clients)"),
	one("the order of instants broken: a < b and b < a", "instant.go",
		"return i.Time < j.Time || i.Time == j.Time && i.Step < j.Step", "return i.Time < j.Time || i.Step < j.Step"),
	one("delays do not lead to the first step", "instant.go",
		"return At(i.Time.Add(max(1, d)))", "return Instant{Time: i.Time.Add(max(1, d)), Step: i.Step}"),
	one("additions overflow", "time.go", "if t > Forever-d {", "if false {"),
	one("a queue that forgets to sink", "queue.go", "if last.Compare(&h[child]) <= 0 {", "if true {"),
	one("a link counts nothing", "send.go", "	l.count++\n", ""),
	one("a link numbers by sender", "send.go", "d.dues[:0], l.count, m.Sent", "d.dues[:0], m.Seq, m.Sent"),
	one("a second copy is lost", "send.go", "	for _, due := range d.dues {", "	for _, due := range d.dues[:min(1, len(d.dues))] {"),
	one("the least delay instead of what the link knows", "join.go",
		"earliest: model.Earliest", "earliest: func(x Instant) Instant { return x.Add(model.Min()) }"),

	// Limits, life and books.
	one("steps without end", "send.go", "if due.Step > d.config.MaxSteps && due != Infinity {", "if false {"),
	one("a lying delay model is believed", "send.go", "if due.Before(to.granted) && to.state != gone {", "if false {"),
	one("the window ahead splits an instant", "settle.go",
		"if len(c.given) == 0 || c.given[len(c.given)-1].due.Before(due) {", "if true {"),
	one("no window ahead", "settle.go", "if need.Before(due) && c.ahead >= d.config.Ahead {", "if false {"),
	one("the window ahead holds back what is needed", "settle.go", "if need.Before(due) && c.ahead", "if c.ahead"),
	one("the end is not a bound", "settle.go",
		"c.safe = Earlier(safe, Earlier(d.end, d.permit))", "c.safe = Earlier(safe, d.permit)"),
	one("a permit is not a bound", "settle.go",
		"c.safe = Earlier(safe, Earlier(d.end, d.permit))", "c.safe = Earlier(safe, d.end)"),
	one("reached although somebody computes", "settle.go",
		"if !c.waiting || c.need().Before(d.permit) {", "if c.need().Before(d.permit) {"),
	one("promises say how far the run has come", "settle.go",
		"upcoming = Earlier(upcoming, d.clients[i].upcoming())", "upcoming = Earlier(upcoming, bounds[i].known)"),
	one("anybody may act at any time", "send.go", "return at.Before(c.granted) || at == Start", "return true"),
	one("a client may act at its authorization", "send.go",
		"return at.Before(c.granted) || at == Start", "return !c.granted.Before(at)"),
	one("a broken promise goes unnoticed", "send.go", "case ev.Sent.Before(promised):", "case false && promised == Start:"),
	one("a delivery counts when it is given", "ledger.go",
		"a.pending = append(a.pending, e.Message)", "a.pending = append(a.pending, e.Message)\n			a.Delivered++"),
	one("the digest leaves out when it was sent", "ledger.go", "	b = appendInstant(b, m.Sent)\n", ""),

	// Not mistakes.
	{name: "reached whatever they wait for: while all wait, nobody has work to do", harmless: true, edits: []edit{
		{"settle.go", "if !c.waiting || c.need().Before(d.permit) {", "if !c.waiting {"},
	}},
	{name: "sends are no promise", harmless: true, edits: []edit{
		{"send.go", "	c.floor = Later(c.floor, ev.Sent) // sends never go back in time: each is a promise\n", ""},
	}},
}
