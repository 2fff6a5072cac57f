package session_test

import (
	"bytes"

	"metasim/wire/session"
)

// run does what package client does in Run, as far as the client may.
func (m *player) run() {
	for m.doing == "run" && m.rules.Running() {
		switch {
		case m.rules.BeginInstant():
			m.instant()
		case m.rules.AtEnd():
			m.begins("leave", m.rules.Leave())
			m.write()
		default:
			m.rules.Wait(session.Work{})
			m.waits = true
			m.write()
			return
		}
	}
	if m.doing == "run" {
		m.endRun()
	}
}

func (m *player) endRun() {
	m.doing = ""
	if !m.fails(m.rules.EndRun()) {
		m.happens(object{{"ended", true}})
	}
}

// instant does all there is to do at one instant.
func (m *player) instant() {
	goesOn := func() bool { return m.doing == "run" && m.rules.Running() }
	for msg, ok := m.rules.NextMessage(); ok; msg, ok = m.rules.NextMessage() {
		m.happens(message(msg))
		for _, i := range m.rules.Handlers(msg.Channel) {
			if m.handle(m.subs[i]); !goesOn() {
				return
			}
		}
	}
	for handler, ok := m.rules.NextTimer(); ok; handler, ok = m.rules.NextTimer() {
		if m.rules.Handled(handler()); !goesOn() {
			return
		}
	}
	if m.rules.EndInstant(); m.rules.Authorized() {
		m.report()
	}
}

// handle does what a handler is to do.
func (m *player) handle(handler string) {
	m.acts = true
	defer func() { m.acts = false }()
	for _, c := range m.do[handler] {
		if err := m.perform(c); err != nil {
			m.happens(object{{"mistake", err.Error()}})
		}
	}
}

func (m *player) write() {
	packets := m.out.Packets()
	if len(packets) == 0 {
		return
	}
	var shown []object
	for _, p := range packets {
		shown = append(shown, fieldsOf(p))
	}
	frame, err := m.conn.encoder.Frames(packets)
	if err != nil {
		m.fails(err)
		return
	}
	m.out.Written()
	o := object{{"out", shown}}
	if len(frame) <= maxShown {
		o = append(o, field{"frame", payload(bytes.Clone(frame))})
	}
	m.conn.happens(o)
}

func (m *player) writeUrgent() bool {
	if !m.out.Urgent() {
		return false
	}
	m.write()
	return true
}

func (m *player) happens(o object) { m.conn.happens(o.with("member", uint64(m.out.Member))) }

// fails notes an error.
func (m *player) fails(err error) bool {
	if err == nil {
		return false
	}
	m.happens(object{{"error", code(err)}, {"text", err.Error()}})
	return true
}

func message(m session.Message) object {
	return object{{"message", m.Channel}, {"from", m.From}, {"seq", m.Seq}, {"sent", instant(m.Sent)}, {"due", instant(m.Due)}}.
		with("payload", payload(m.Payload))
}
