package levels

// Counts returns how often a model was handed over at a border or because of costs, was merged with models of another secondary, and was split from them.
func (p *Primary) Counts() (handovers, merges, splits uint64) {
	return p.owners.handovers, p.owners.merges, p.owners.splits
}

// Started returns how often a secondary began to take part, and was not needed any more, where their number follows the performers.
func (p *Primary) Started() (starts, retires uint64) { return p.owners.starts, p.owners.retires }

// Ahead returns how many steps secondaries have done ahead of the world.
func (p *Primary) Ahead() uint64 { return p.ahead.total }

// A Share is what one secondary moves at the end.
type Share struct {
	Name               string
	Steps              uint64   // of the world in which it took part
	Performers, Levels []string // by name; of the levels those that are loaded because of these performers
}

// Shares says who moves what, in the order of the secondaries, of those that have taken part.
func (p *Primary) Shares() (all []Share) {
	for k := range p.names {
		if p.stepsOf[k] == 0 && p.owners.auto {
			continue
		}
		s := Share{p.names[k], p.stepsOf[k], []string{}, []string{}}
		for i := range p.system.performers {
			if u := p.owners.units[p.system.performers[i].entity]; u != nil && u.owner == k {
				s.Performers = append(s.Performers, p.system.performers[i].Name)
			}
		}
		for level, by := range p.levels {
			if by>>k&1 != 0 && p.system.rule.Is(level) {
				s.Levels = append(s.Levels, p.system.plan.Levels[level].Name)
			}
		}
		all = append(all, s)
	}
	return all
}

// Measured takes how much processor time each secondary has taken since it was called last, in nanoseconds. With the next order levels and models may move because of it.
func (p *Primary) Measured(cost []int64) {
	p.costs.pending, p.costs.steps, p.costs.at = cost, p.steps-p.costs.at, p.steps
}

// Balanced returns what each secondary took for a step of the world, in nanoseconds, when it was measured first and last, and what was moved in between.
func (p *Primary) Balanced() (before, after []float64, moves []Move) {
	return p.costs.before, p.costs.after, p.costs.moves
}
