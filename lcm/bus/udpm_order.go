package bus

// An orderer puts messages of one size side by side, as the system can take a run of them at once. The messages of one
// channel, which mostly are of one size, keep their order.
type orderer struct {
	groups map[lane]int
	group  [atOnce]int
	starts [atOnce + 1]int
	sorted [atOnce]int
}

// A lane is what keeps its order: a channel, or of what is unordered those of one size.
type lane struct {
	channel string
	size    int // 0 where the order matters
}

// order returns the order in which to send at most atOnce messages: lane by lane, as they first occur. It is valid until
// the next call.
func (o *orderer) order(ms []Message) []int {
	if o.groups == nil {
		o.groups = make(map[lane]int, atOnce)
	}
	clear(o.groups)
	clear(o.starts[:])
	for i := range ms {
		l := lane{channel: ms[i].Channel}
		if ms[i].Unordered {
			l.size = 1 + len(ms[i].Payload)
		}
		g, met := o.groups[l]
		if !met {
			g = len(o.groups)
			o.groups[l] = g
		}
		o.group[i] = g
		o.starts[g+1]++
	}
	for g := range len(o.groups) {
		o.starts[g+1] += o.starts[g]
	}
	for i := range ms {
		g := o.group[i]
		o.sorted[o.starts[g]] = i
		o.starts[g]++
	}
	return o.sorted[:len(ms)]
}
