package scenarios

import (
	"errors"
	"strings"

	"metasim/delay"
	"metasim/metasim"
)

// links makes the rules, and says what is wrong with them beyond the schema. A rule that is wrong is left out.
func (c *checker) links() {
	for i := range c.root.child("links").items() {
		p := path{"links"}.in(i)
		if c.bad[p.String()] {
			continue
		}
		rule := delay.Rule{From: c.word(p.to("from")), To: c.word(p.to("to")), Channel: c.word(p.to("channel"))}
		rule.Spec = delay.Spec{
			Delay:     c.delay(p.to("delay"), c.dirOfLink(i)),
			Loss:      c.loss(p.to("loss")),
			Bandwidth: c.bandwidth(p.to("bandwidth")),
			Duplicate: c.number(p.to("duplicate"), 0),
		}
		if c.word(p.to("order")) == delay.FIFO.String() {
			rule.Spec.Order = delay.FIFO
		}
		if c.bad[p.String()] {
			continue
		}
		if err := rule.Spec.Validate(); err != nil {
			c.field(p, err)
			continue
		}
		c.rules = append(c.rules, rule)
	}
}

// field adds a problem at the field that a *delay.FieldError names.
func (c *checker) field(p path, err error) {
	var wrong *delay.FieldError
	if !errors.As(err, &wrong) {
		c.fail(p, "%s", err)
		return
	}
	c.fail(p.to(strings.Split(wrong.Field, ".")...), "%s", wrong.Text)
}

func (c *checker) bandwidth(p path) delay.Bandwidth {
	text := c.word(p)
	if text == "" {
		return 0
	}
	b, err := delay.ParseBandwidth(text)
	if err == nil && b == 0 {
		err = errors.New("is zero; leave bandwidth out for an infinite one, or use loss: 1")
	}
	if err != nil {
		c.fail(p, "%s", err)
	}
	return b
}

// delay returns a delay, or nil for none.
func (c *checker) delay(p path, in directory) delay.Distribution {
	n := c.sound(p)
	if n == nil {
		return nil
	}
	if _, ok := n.text(); ok {
		return delay.Constant(c.time(p))
	}
	m, ok := n.value.(*mapping)
	if !ok {
		return nil // the schema takes nothing else
	}
	kind := m.entries[0].key // the only one
	p = p.to(kind)
	time := func(field string) metasim.Time { return c.time(p.to(field)) }
	switch kind {
	case "uniform":
		return delay.Uniform{Min: time("min"), Max: time("max")}
	case "normal":
		return delay.Normal{Mean: time("mean"), StdDev: time("stddev"), Min: new(time("min"))}
	case "exponential":
		return delay.Exponential{Mean: time("mean"), Min: new(time("min"))}
	case "lognormal":
		return delay.LogNormal{Mean: time("mean"), StdDev: time("stddev"), Min: new(time("min"))}
	case "gamma":
		return delay.Gamma{Mean: time("mean"), StdDev: time("stddev"), Min: new(time("min"))}
	}
	return c.empirical(p, in)
}

// empirical reads measured delays.
func (c *checker) empirical(p path, in directory) delay.Distribution {
	if values := c.sound(p.to("values")); values != nil {
		delays := make(delay.Empirical, len(values.items()))
		for i := range delays {
			delays[i] = c.time(p.to("values").in(i))
		}
		return delays
	}
	name := c.word(p.to("file"))
	delays, err := in.csv(name)
	if err != nil {
		c.fail(p.to("file"), "%v", err)
	}
	return delays
}

// csv reads a file of delays. A million delays need less than maxCSV.
func (d directory) csv(name string) (delays delay.Empirical, err error) {
	const maxCSV = 64 << 20
	f, err := d.open(name)
	if err != nil {
		return nil, err
	}
	data, err := readUpTo(f, maxCSV)
	if err != nil {
		return nil, err
	}
	if len(data) > maxCSV {
		return nil, errors.New(quote(name) + " is larger than 64 MiB; take a sample of the delays")
	}
	return delay.ReadCSV(name, data)
}

// loss returns which messages are lost, or nil for none.
func (c *checker) loss(p path) delay.Loss {
	n := c.sound(p)
	if n == nil {
		return nil
	}
	if bursts := p.to("gilbert_elliott"); n.child("gilbert_elliott") != nil {
		return delay.GilbertElliott{
			GoodToBad: c.number(bursts.to("p_good_to_bad"), 0),
			BadToGood: c.number(bursts.to("p_bad_to_good"), 0),
			LossGood:  c.number(bursts.to("loss_good"), 0),
			LossBad:   c.number(bursts.to("loss_bad"), 1),
		}
	}
	return delay.Bernoulli(c.number(p, 0))
}
