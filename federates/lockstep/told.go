package lockstep

import (
	"fmt"

	"metasim/client"
	"metasim/federates/catalog"
	"metasim/federates/world"
	"metasim/metasim"
)

// A voice publishes what systems tell, by topic.
type voice map[string]*client.Publication

// tellers takes the publications of the topics, which are the first ones. It returns the others.
func tellers(topics []string, out []*client.Publication) (voice, []*client.Publication) {
	v := voice{}
	for i, topic := range topics {
		v[topic] = out[i]
	}
	return v, out[len(topics):]
}

// add takes the publications of what the world tells of its levels, which are the first ones: the answers about performers, and the maps. It returns the others.
func (v voice) add(in *catalog.Instance, out []*client.Publication) []*client.Publication {
	if catalog.Get[bool](in, "set_performer") {
		_, reply := catalog.PerformerChannels(in.Name)
		v[reply], out = out[0], out[1:]
	}
	if catalog.Get[metasim.Time](in, "map") > 0 {
		v[catalog.MapChannel(in.Name)], out = out[0], out[1:]
	}
	return out
}

// publish publishes what systems tell now.
func (v voice) publish(told []world.Told) error {
	for _, t := range told {
		p := v[t.Topic]
		if p == nil {
			return fmt.Errorf("a system tells something on %q, which is none of its topics; add it to topics", t.Topic)
		}
		if err := p.PublishOwned(t.Payload); err != nil {
			return err
		}
	}
	return nil
}
