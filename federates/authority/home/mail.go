package home

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"metasim/federates/authority/seal"
	"metasim/federates/authority/transfer"
)

// A letter is what waits for a server or a homeserver.
type letter struct {
	Message transfer.Message `json:"message"` // first: what waits is compared by it, as text
	Number  uint64           `json:"number"`
	Sent    []int64          `json:"sent,omitempty"` // of the message, which comes again with other times
}

// A mailbox is the node above the letters of somebody.
type mailbox struct {
	Last uint64 `json:"last"` // the number of the last letter that was put in
}

// maxMail is how many letters wait for one at most.
const maxMail = 1000

func letterPath(name string, number uint64) string {
	return fmt.Sprintf("%s/%s/%020d", mailPath, name, number) // in the order of their numbers
}

// post puts a message into the mail of who is to have it. repeats: it may be there already. Who has an account and no server reads the answers of HTTP instead.
func (c *call) post(out transfer.Envelope, repeats bool) *problem {
	_, listens := c.tree.Get(serversPath + "/" + out.To)
	_, account := c.tree.Get(accountsPath + "/" + out.To)
	switch {
	case listens, c.knows(out.To):
	case account:
		return nil
	default:
		return refuse("unknown-server", "there is a message for %q, and no server and no homeserver of that name is known here; have it register, or name the homeserver", clip(out.To))
	}
	text, p := c.command("", 0, out.Message)
	if p != nil {
		return p
	}
	waiting := c.tree.List(mailPath+"/"+out.To, "", maxMail)
	if repeats && c.waits(out.To, waiting, text.Payload) {
		return nil
	}
	if len(waiting) >= maxMail {
		return refuse("mailbox-full", "%d messages wait for %s; have it fetch them", len(waiting), out.To)
	}
	box, written := c.boxes[out.To]
	if !written {
		var p *problem
		if box.version, p = c.load(mailPath+"/"+out.To, &box.mailbox); p != nil {
			return p
		}
		box.at = len(c.commands)
		c.commands = append(c.commands, Command{})
	}
	box.Last++
	if c.boxes == nil {
		c.boxes = map[string]openBox{}
	}
	c.boxes[out.To] = box
	_, p = c.store(letterPath(out.To, box.Last), 0, letter{out.Message, box.Last, c.sending(&out.Message)})
	if p == nil {
		c.commands[box.at], p = c.command(mailPath+"/"+out.To, box.version, box.mailbox)
	}
	return p
}

// sending returns when each of the trail of what this homeserver says has sent it; nil: somebody before did not say.
func (c *call) sending(m *transfer.Message) []int64 {
	switch n := len(m.Trail); {
	case n == 1:
		return []int64{int64(c.now)}
	case len(c.sent) == n-1:
		return append(slices.Clip(c.sent), int64(c.now))
	}
	return nil
}

// waits reports whether a message is among the letters of somebody.
func (c *call) waits(name string, waiting []string, message []byte) bool {
	head := append([]byte(`{"message":`), message...)
	return slices.ContainsFunc(waiting, func(number string) bool {
		node, found := c.tree.Get(mailPath + "/" + name + "/" + number)
		return found && bytes.HasPrefix(node.Payload, head)
	})
}

// An openBox is a mailbox to which a call adds.
type openBox struct {
	mailbox
	version uint64
	at      int // its command
}

// knows reports whether a name is that of another homeserver.
func (c *call) knows(name string) bool { return slices.Contains(c.cfg.Homeservers, name) }

// A mailPage is what waits.
type mailPage struct {
	Items []letter `json:"items"`
}

// maxWait is how long, in seconds, somebody may wait for mail.
const maxWait = 20

// readMail shows what waits for the account that asks.
func readMail(c *call) (Response, *problem) {
	limit, wait, after := stdList, 0, uint64(0)
	for _, q := range c.Query {
		n, err := strconv.ParseUint(q[1], 10, 64)
		switch {
		case q[0] == "registered":
		case err != nil, q[0] == "limit" && (n < 1 || n > maxList), q[0] == "wait" && n > maxWait:
			return Response{}, refuse("invalid-value", "%s is %q; use a whole number: limit 1 to %d, wait 0 to %d seconds", q[0], clip(q[1]), maxList, maxWait)
		case q[0] == "limit":
			limit = int(n)
		case q[0] == "wait":
			wait = int(n)
		default:
			after = n
		}
	}
	p := c.stillRegistered()
	if p != nil {
		return Response{}, p
	}
	letters, p := c.letters(c.account.Name, after, limit)
	if p != nil {
		return Response{}, p
	}
	r, p := ok(200, 0, mailPage{append([]letter{}, letters...)})
	if len(letters) == 0 && wait > 0 {
		r.Waits = wait
	}
	return r, p
}

// letters are those for somebody after a number. Another homeserver of this store may have written them: who delivers one is the last that has sent it, and is whom the answer goes to.
func (c *call) letters(name string, after uint64, limit int) (all []letter, p *problem) {
	for _, n := range c.tree.List(mailPath+"/"+name, fmt.Sprintf("%020d", after), limit) {
		var l letter
		if _, p = c.load(mailPath+"/"+name+"/"+n, &l); p != nil {
			return nil, p
		}
		l.Message.Sent, l.Sent = l.Sent, nil
		if n := len(l.Message.Trail); n > 0 {
			l.Message.Trail[n-1] = c.cfg.Name
		}
		if p = c.sign(name, &l.Message); p != nil {
			return nil, p
		}
		all = append(all, l)
	}
	return all, nil
}

// sign signs a grant of this homeserver that is delivered to somebody: the old owner, or who passes it on. What others have granted they have signed.
func (c *call) sign(to string, m *transfer.Message) *problem {
	if m.Kind != transfer.Grant || len(m.Trail) != 1 {
		return nil
	}
	if n := len(m.Route); n > 0 {
		to = m.Route[n-1]
	}
	signed, err := c.cfg.key.Sign(seal.Grant{Instance: c.cfg.Instance, Entity: m.Entity, Epoch: uint16(m.Epoch), From: to, To: m.Owner})
	if err != nil {
		return refuse("internal", "a grant cannot be signed: %v", err)
	}
	m.Proof = signed
	return nil
}

// stillRegistered refuses a process that has registered as a server before another one has: of two that have its mail each would do a part of what they are to do. Who knows of a later registration
// than this homeserver does, as in a cluster, is not refused.
func (c *call) stillRegistered() *problem {
	for _, q := range c.Query {
		if q[0] != "registered" {
			continue
		}
		n, err := strconv.ParseUint(q[1], 10, 64)
		var s simserver
		_, p := c.load(serversPath+"/"+c.account.Name, &s)
		switch {
		case p != nil:
			return p
		case err != nil:
			return refuse("invalid-value", "registered is %q; use the registration that PUT /v1/servers/%s has answered", clip(q[1]), c.account.Name)
		case n < s.Count:
			return refuse("superseded", "another process has registered as %s since this one has; end one of the two, or give them accounts of their own", c.account.Name)
		}
	}
	return nil
}

// removeMail removes what was fetched: a letter and all before it.
func removeMail(c *call) (Response, *problem) {
	n, err := strconv.ParseUint(c.names[0], 10, 64)
	if err != nil {
		return Response{}, refuse("invalid-value", "%q is no number of a letter; use that of the last one that was taken", clip(c.names[0]))
	}
	if p := c.stillRegistered(); p != nil {
		return Response{}, p
	}
	c.removeLetters(c.account.Name, n)
	return Response{Status: 204}, nil
}

func (c *call) removeLetters(name string, until uint64) {
	last := fmt.Sprintf("%020d", until)
	for _, n := range c.tree.List(mailPath+"/"+name, "", maxMail) {
		path := mailPath + "/" + name + "/" + n
		if node, found := c.tree.Get(path); found && n <= last {
			c.remove(path, node.Version)
		}
	}
}
