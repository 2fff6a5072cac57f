package lockstep

import (
	"fmt"

	"metasim/client"
	"metasim/federates/world"
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
