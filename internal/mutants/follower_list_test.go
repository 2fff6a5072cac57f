package mutants

// inFrames is a mistake in a file of the core of followers.
func inFrames(name, file, old, new string) mutant {
	return one(name, followerFolder+"/"+file, old, new)
}

// endless is a mistake with which a test does not come to an end.
func endless(m mutant) mutant {
	m.endless = true
	return m
}

// harmless is a change that no test may notice.
func harmless(m mutant) mutant {
	m.harmless = true
	return m
}

// followerFolder is the core of followers, below metasim/.
const followerFolder = "../federates/follower/frames"

// Mistakes in the failover of followers: who takes over, under which epoch, what the old controller may still do, and which data a frame has.
var followerMutants = []mutant{
	// Who takes over.
	inFrames("nobody takes over", "failover.go", "if !d.promote() {", "if true {"),
	inFrames("the last understudy is next", "members.go", "m.order < d.lead.order", "m.order > d.lead.order"),
	inFrames("of equal understudies the last is next", "members.go", "m.order < d.lead.order", "m.order <= d.lead.order"),
	inFrames("one that has failed takes over", "members.go", "m.role == Understudy && !m.gone &&", "m.role == Understudy &&"),
	inFrames("a follower takes over", "members.go", "m.role == Understudy && !m.gone &&", "!m.gone &&"),
	inFrames("a follower that fails costs the controller its role", "failover.go", "if m != d.lead {\n		return\n	}\n	if", "if false {\n		return\n	}\n	if"),
	endless(inFrames("two controllers begin", "director.go", "case len(leads) > 1:", "case false:")),

	// The epoch, and the frames that are asked for again.
	inFrames("a failover keeps the epoch", "failover.go", "	d.epoch++\n", ""),
	inFrames("the frame is not asked for again", "failover.go", "	d.Totals.Failovers++\n	d.again(now, i)", "	d.Totals.Failovers++"),
	inFrames("a released frame is asked for again", "failover.go", "		if f.released {\n			continue\n		}\n		if f.asked", "		if f.asked"),
	inFrames("the old notice releases the new frame", "failover.go", "f.epoch, f.controller, f.sent = d.epoch, d.lead.name, nil", "f.epoch, f.controller = d.epoch, d.lead.name"),
	inFrames("the frame is asked for again of the old controller", "failover.go", "f.epoch, f.controller, f.sent = d.epoch, d.lead.name, nil", "f.epoch, f.sent = d.epoch, nil"),
	inFrames("the frame is asked for again in the old epoch", "failover.go", "f.epoch, f.controller, f.sent = d.epoch, d.lead.name, nil", "f.controller, f.sent = d.lead.name, nil"),
	inFrames("what the old controller showed is a torn frame", "failover.go", "f.back[i] = Frame{} //", "_ = i //"),
	inFrames("the new controller has no patience of its own", "failover.go", "if f.asked = now; f.epoch == d.epoch {", "if f.epoch == d.epoch {"),
	inFrames("a frame that is asked for again was seen", "failover.go", "		f.seen, f.called = false, false\n", ""),
	inFrames("who lacked the old data lacks the new", "failover.go", "		clear(f.lacks)\n", ""),
	inFrames("a frame with a failure is late", "failover.go", "		f.excused = true\n", ""),
	inFrames("later frames have no time of their own", "failover.go", "		d.wait(now, f)\n", ""),

	// The fence: what a failed node may still do.
	inFrames("the failed node is waited for", "failover.go", "		f.settle(i, m)\n		f.excused", "		f.excused"),
	inFrames("the failed node is not told to leave", "failover.go", "	d.tell(&quit{[]string{m.name}, why + \"; the others go on without it\", true})\n", ""),
	inFrames("the failed node is a member still", "failover.go", "	m.gone = true\n	d.Totals.Failed", "	d.Totals.Failed"),
	inFrames("a notice of an old epoch releases", "director.go", "f.data.Frame != s.frame || f.epoch != s.epoch || m.gone:", "f.data.Frame != s.frame || m.gone:"),
	inFrames("a notice of another node releases", "director.go", "case f.controller != m.name:", "case false:"),
	inFrames("an input of a failed node counts", "director.go", "if input := r.block(); !m.gone {", "if input := r.block(); true {"),
	inFrames("a charge of a failed node counts", "director.go", "if c := r.charge(); !m.gone && r.err == nil {", "if c := r.charge(); r.err == nil {"),
	inFrames("who says bye by itself is not failed", "director.go", "if d.stage < ending && !m.gone {", "if false {"),
	inFrames("a node joins late", "director.go", "if d.stage != gathering {", "if false {"),
	inFrames("all leave when one has failed", "node.go", "if slices.Contains(q.nodes, n.name) && n.ended == nil {", "if n.ended == nil {"),

	// Which data a frame has.
	inFrames("frames are released out of their order", "director.go", "		if f.sync && f.sent == nil {\n			return\n", "		if f.sync && f.sent == nil {\n			continue\n"),
	inFrames("a frame without data is released as one with data", "failover.go", "d.tell(&release{f.data.Frame, f.epoch, true})", "d.tell(&release{f.data.Frame, f.epoch, false})"),
	inFrames("a frame without data is waited for", "failover.go", "	for i, m := range d.members {\n		f.settle(i, m)\n	}\n", ""),
	inFrames("an older release counts", "node.go", "s != nil && (s.release == nil || s.release.epoch < l.epoch) {", "s != nil {"),
	inFrames("an older request counts", "node.go", "case s != nil && (s.request == nil || s.request.epoch < q.epoch):", "case s != nil:"),
	inFrames("a release of any epoch counts", "set.go", "s.release != nil && s.release.epoch == s.request.epoch &&", "s.release != nil &&"),
	inFrames("data of any epoch is shown", "set.go", "o.from == from && o.pieces[0].epoch == epoch", "o.from == from"),
	inFrames("data of any node is shown", "set.go", "o.from == from && o.pieces[0].epoch == epoch", "o.pieces[0].epoch == epoch"),
	inFrames("a node goes back to an older epoch", "node.go", "if s.request.epoch < n.epoch {", "if false {"),
	inFrames("a frame is missing in the latest epoch alone", "node.go", "if missing { //", "if missing && q.epoch >= n.epoch { //"),
	inFrames("a missing frame takes a node back to an older epoch", "node.go", "n.epoch = max(n.epoch, q.epoch)", "n.epoch = q.epoch"),
	inFrames("a node forgets the epoch that it shows", "node.go", "n.current, n.epoch = c, q.epoch", "n.current = c"),
	inFrames("a controller forgets its epoch", "node.go", "if n.current = c; q.sync {", "if n.current = c; false {"),
	inFrames("the first state of a controller does not travel whole", "calls.go", "			n.Packer.Forget()\n", ""),
	harmless(inFrames("the state travels whole once", "calls.go", "if n.packed != c.epoch {", "if n.packed == 0 {")), // a node controls in one epoch: the next one begins when it fails

	// A controller that says that it has sent, and has not.
	inFrames("nobody is asked for the data", "failover.go", "if !f.called && f.unseen(d.members) {", "if false {"),
	inFrames("who does not answer is waited for", "failover.go", "if silent && now < f.deadline(d.cfg.Patience) {", "if silent {"),
	inFrames("who has no data is failed", "failover.go", "if f.owing[i] && (!lacked || !f.lacks[i] && m.name != f.controller) {", "if f.owing[i] {"),
	inFrames("who does not answer is not failed", "failover.go", "(!lacked || !f.lacks[i] && m.name != f.controller)", "!lacked"),
	harmless(inFrames("a frame that was seen is withdrawn", "members.go", "f.owed > 0 && !f.seen && !f.missing()", "f.owed > 0 && !f.missing()")), // nodes show frames in their order, and one before it was not seen
	inFrames("the frame of a liar stays released", "failover.go", "		d.withdraw(m)\n", ""),
	inFrames("a frame is missed in the epoch of the liar", "failover.go", "f.epoch, f.sent = d.epoch, &sent{missing: true}", "f.sent = &sent{missing: true}"),
	inFrames("the other frames of the liar are waited for", "failover.go", "		d.missed(f)\n		d.question(now, m)\n", "		d.missed(f)\n"),
	inFrames("the frames of who is charged are waited for", "failover.go", "		d.question(now, m)\n	}\n	d.charges", "	}\n	d.charges"),
	inFrames("after a charge the patience passes again", "failover.go", "f.called, f.since = true, now-d.cfg.Patience", "f.called = true"),
	inFrames("a lack of an old epoch counts", "members.go", "f.epoch == l.epoch && ", ""),
	inFrames("a lack that nobody has asked for counts", "members.go", "f.owing[i] && f.called {", "f.owing[i] {"),
	inFrames("a node shows what it has said to lack", "set.go", " && s.lost != s.request.epoch", ""),
	inFrames("a node forgets what it has said to lack", "node.go",
		"s.lost = s.called\n		n.owed = append(n.owed, (&lack{s.frame, s.lost}).encode())", "n.owed = append(n.owed, (&lack{s.frame, s.called}).encode())"),
	inFrames("an older question counts", "node.go", "s.called = max(s.called, c.epoch)", "s.called = c.epoch"),
	inFrames("the data of who was charged is shown", "node.go", "if s == nil || slices.Contains(n.charged, from) {", "if s == nil {"),
	inFrames("what the charged has sent before is shown", "node.go",
		"s.sets = slices.DeleteFunc(s.sets, func(o *set) bool { return o.from == e.Peer })", "_ = s"),
	inFrames("a second controller is not charged", "node.go", "q != nil && q.epoch == p.epoch && q.controller != from {", "false {"),
	inFrames("who has shown the frame does not say so as its next controller", "node.go", "case s == nil && q.controller == n.name && !n.controlled(q.data.Frame):", "case false:"),
	inFrames("a request that comes twice makes the frame a missing one", "node.go", "q.controller == n.name && !n.controlled(q.data.Frame):", "q.controller == n.name:"),
	inFrames("a node forgets since when it controls", "node.go", "if c.controls && n.led < 0 {", "if false {"),
	inFrames("the controller has seen its own frame", "flight.go", "f.seen = f.seen || m.name != f.controller", "f.seen = true"),

	// The end.
	inFrames("the controller leaves with the others", "failover.go", "if !m.gone && m != d.lead {", "if !m.gone {"),
	inFrames("a missing frame is not told before the end", "node.go", "if n.ended == nil || before {", "if n.ended == nil {"),
	inFrames("a missing frame is not told where the end overtakes its release", "node.go", " || n.ended != nil && n.ended.reason == \"\" && !n.ended.failed", ""),
	inFrames("who has failed hears of a missing frame first", "node.go", " && (n.ended == nil || !n.ended.failed)\n", "\n"),
	inFrames("the controller is not told to leave", "director.go", "d.tell(&quit{[]string{d.lead.name}, d.reason, false})", "_ = d.reason"),
}
