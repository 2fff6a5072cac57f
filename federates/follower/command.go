package follower

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"metasim/client"
	"metasim/delay"
)

// A Command is a message, as JSON, that changes how a cluster goes on: for the director, or for one node.
type Command struct {
	Sync *bool  `json:"sync,omitempty"` // engine synchronisation, from the next frame on
	Quit bool   `json:"quit,omitempty"` // no frame is asked for any more, and all nodes leave, the controller last
	Node string `json:"node,omitempty"` // to which the following is said
	Load string `json:"load,omitempty"` // how long its frames take, as 50ms
	Fail bool   `json:"fail,omitempty"` // it leaves without a word to the others
}

// Check says what of a command makes no sense.
func (c *Command) Check() error {
	_, err := c.load()
	switch {
	case err != nil:
		return fmt.Errorf("the load: %w", err)
	case c.Node == "" && (c.Load != "" || c.Fail):
		return errors.New("a load or a failure without a node; name one")
	case c.Node == "" && c.Sync == nil && !c.Quit:
		return errors.New("a command that says nothing")
	}
	return nil
}

func (c *Command) load() (time.Duration, error) {
	if c.Load == "" {
		return 0, nil
	}
	t, err := delay.ParseDuration(c.Load)
	return time.Duration(t), err
}

// commandOf reads a command.
func commandOf(m client.Message) (c Command, load time.Duration, err error) {
	d := json.NewDecoder(bytes.NewReader(m.Payload))
	d.DisallowUnknownFields()
	if err = d.Decode(&c); err == nil {
		err = c.Check()
	}
	if err == nil {
		load, err = c.load()
	}
	if err != nil {
		err = fmt.Errorf(`client %q published on %s what is no command (%w); write {"sync": false}, {"quit": true}, {"node": "NAME", "load": "50ms"} or {"node": "NAME", "fail": true}`, m.From, m.Channel, err)
	}
	return c, load, err
}
