package export

import "metasim/metasim"

// A client is what a journal has told so far of one client: enough to know what of it is still to come.
type client struct {
	floor metasim.Instant // it sends nothing before, whatever is delivered
	next  metasim.Instant // nor before this, unless something is delivered
	acked uint64
	sends uint64
	mail  mailbox
	gone  bool
}

// report takes a client's promises, as the dispatcher reads them.
func (c *client) report(r *metasim.Report) {
	c.floor = metasim.Later(c.floor, metasim.Later(r.Now, r.NoSendBefore))
	c.next = metasim.Later(c.floor, r.NextEvent)
}

// wait takes what waiting promises: nothing is sent before the instant that is waited for, or that a message wakes it.
func (c *client) wait(ev *metasim.PollWait) {
	c.next = metasim.Later(c.next, ev.Want)
	if !ev.Messages {
		c.floor = metasim.Later(c.floor, ev.Want)
	}
}

// leave forgets what never comes.
func (c *client) leave() {
	c.gone, c.mail = true, nil
}

// horizon returns the instant before which nothing more of this client occurs, unless another one sends earlier: it
// handles its mail, and sends in answer to it or at its next event.
func (c *client) horizon() metasim.Instant {
	if c.gone {
		return metasim.Infinity
	}
	return metasim.Earlier(c.mail.due(), metasim.Later(c.floor, c.next))
}
