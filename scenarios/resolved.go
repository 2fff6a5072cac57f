package scenarios

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"metasim/delay"
	"metasim/metasim"
)

// Resolved returns the scenario as it was resolved, as JSON: overrides applied, defaults filled in, and the files that
// decide how long messages travel copied into it. It is in the scenario language itself, and the same for the same
// scenario on every machine. [Restore] reads it back.
func (s *Scenario) Resolved() (json.RawMessage, error) {
	doc := s.doc
	doc.Links = make([]object, len(s.Rules))
	for i, r := range s.Rules {
		doc.Links[i] = written(r)
	}
	text, err := json.Marshal(&doc)
	if err != nil {
		return nil, fmt.Errorf("scenarios: %s cannot be written as JSON: %w", s.Name, err)
	}
	return text, nil
}

// Restore makes a Scenario of what Resolved returned. Dir is where its paths begin; neither files nor commands need to
// be there any more, as what has run can be looked at without them.
func Restore(resolved []byte, dir string) (*Scenario, error) {
	decoder := json.NewDecoder(bytes.NewReader(resolved))
	decoder.UseNumber()
	var plain any
	if err := decoder.Decode(&plain); err != nil {
		return nil, fmt.Errorf("scenarios: the resolved scenario is no JSON (%w); use the manifest as it was written", err)
	}
	s, _, err := build(treeOf(plain), dir, Overrides{}, toLook) // its warnings were given when it ran
	return s, err
}

// treeOf makes nodes without places of decoded JSON.
func treeOf(plain any) *node {
	n := &node{at: place{file: "resolved scenario"}}
	switch v := plain.(type) {
	case json.Number:
		n.value = scalar(v.String())
	case []any:
		list := make([]*node, len(v))
		for i, item := range v {
			list[i] = treeOf(item)
		}
		n.value = list
	case object:
		m := &mapping{}
		for _, key := range keys(v) {
			m.entries = append(m.entries, entry{key, n.at, treeOf(v[key])})
		}
		n.value = m
	default:
		n.value = v
	}
	return n
}

// written is a rule in the scenario language. It has one form, however the file wrote it.
func written(r delay.Rule) object {
	o := object{"delay": writtenDelay(r.Spec.Delay)}
	put := func(key string, value any, worth bool) {
		if worth {
			o[key] = value
		}
	}
	put("from", r.From, r.From != "")
	put("to", r.To, r.To != "")
	put("channel", r.Channel, r.Channel != "")
	put("order", r.Spec.Order.String(), r.Spec.Order != delay.AnyOrder)
	put("bandwidth", strconv.FormatUint(uint64(r.Spec.Bandwidth), 10)+"bit", r.Spec.Bandwidth != 0)
	put("duplicate", r.Spec.Duplicate, r.Spec.Duplicate != 0)
	switch l := r.Spec.Loss.(type) {
	case delay.Bernoulli:
		o["loss"] = float64(l)
	case delay.GilbertElliott:
		o["loss"] = object{"gilbert_elliott": object{
			"p_good_to_bad": l.GoodToBad, "p_bad_to_good": l.BadToGood, "loss_good": l.LossGood, "loss_bad": l.LossBad,
		}}
	}
	return o
}

func writtenDelay(d delay.Distribution) any {
	switch d := d.(type) {
	case delay.Constant:
		return metasim.Time(d).String()
	case delay.Uniform:
		return object{"uniform": object{"min": span(d.Min), "max": span(d.Max)}}
	case delay.Normal:
		return object{"normal": object{"mean": span(d.Mean), "stddev": span(d.StdDev), "min": span(*d.Min)}}
	case delay.Exponential:
		return object{"exponential": object{"mean": span(d.Mean), "min": span(*d.Min)}}
	case delay.LogNormal:
		return object{"lognormal": object{"mean": span(d.Mean), "stddev": span(d.StdDev), "min": span(*d.Min)}}
	case delay.Gamma:
		return object{"gamma": object{"mean": span(d.Mean), "stddev": span(d.StdDev), "min": span(*d.Min)}}
	case delay.Empirical:
		values := make([]span, len(d))
		for i, t := range d {
			values[i] = span(t)
		}
		return object{"empirical": object{"values": values}}
	}
	return metasim.Time(0).String()
}
