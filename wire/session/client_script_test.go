package session_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"metasim/internal/golden"
	"metasim/internal/script"
	"metasim/wire"
)

// A story is one vector: what is done, and what happens then, in order.
type story struct {
	Name  string   `json:"name"`
	About string   `json:"about"`
	Steps []object `json:"steps"`
}

const vectors = "../../conformance/vectors"

// The stories of testdata/client are sessions as text: calls and packets of the server, and what happens then. The same
// stories are the vectors for clients in other languages.
func TestClientStories(t *testing.T) {
	total := 0
	paths, err := filepath.Glob("testdata/client/*.txt")
	require.NoError(t, err)
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			w := &writer{about: comments(string(text))}
			script.File(t, path, w.handle)
			total += len(w.stories)
			var out bytes.Buffer
			out.WriteString("[")
			for i, s := range w.stories {
				out.WriteString(strings.Repeat(",", min(i, 1)) + "\n" + s.lines(t))
			}
			out.WriteString("\n]\n")
			golden.Equal(t, filepath.Join(vectors, name+".json"), out.String())
		})
	}
	require.GreaterOrEqual(t, total, 40)
}

// lines is a story as JSON, a step a line.
func (s *story) lines(t *testing.T) string {
	var out strings.Builder
	head, err := json.Marshal(object{{"name", s.Name}, {"about", s.About}})
	require.NoError(t, err)
	out.WriteString(strings.TrimSuffix(string(head), "}") + `,"steps":[`)
	for i, step := range s.Steps {
		line, err := json.Marshal(step)
		require.NoError(t, err)
		out.WriteString(strings.Repeat(",", min(i, 1)) + "\n " + string(line))
	}
	out.WriteString("\n]}")
	return out.String()
}

// comments returns what is said of each story in the comment above it.
func comments(text string) map[string]string {
	about, said := map[string]string{}, []string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		comment, isComment := strings.CutPrefix(line, "# ")
		name, isStory := strings.CutPrefix(line, "story ")
		switch {
		case isComment:
			said = append(said, comment)
			continue
		case isStory:
			about[name] = strings.Join(said, " ")
		}
		said = nil
	}
	return about
}

// A writer carries out the commands of a script, and writes its stories down.
type writer struct {
	about   map[string]string
	stories []*story
	conn    *connection
	shown   int // of the connection's events
}

func (w *writer) handle(c *script.Command) (string, error) {
	if c.Name == "story" {
		name, err := c.Word("a name")
		w.stories = append(w.stories, &story{Name: name, About: w.about[name]})
		w.conn, w.shown = newConnection(), 0
		return "", err
	}
	if w.conn == nil {
		return "", fmt.Errorf("no story has begun; write one above")
	}
	if err := w.perform(c); err != nil {
		return "", err
	}
	s := w.stories[len(w.stories)-1]
	var lines []string
	for _, o := range w.conn.events[w.shown:] {
		s.Steps = append(s.Steps, o)
		lines = append(lines, show(o)...)
	}
	w.shown = len(w.conn.events)
	return strings.Join(lines, "\n"), nil
}

func (w *writer) perform(c *script.Command) error {
	s := w.stories[len(w.stories)-1]
	if c.Name == "in" {
		kind, err := c.Word("a packet")
		if err != nil {
			return err
		}
		p, err := parsePacket(kind, c)
		if err != nil {
			return err
		}
		var e wire.Encoder
		frame, err := e.Frames([]wire.Packet{p})
		if err != nil {
			return err
		}
		s.Steps = append(s.Steps, object{{"in", []object{fieldsOf(p)}}, {"frame", payload(frame)}})
		return w.conn.receive(frame)
	}
	parsed, err := parseCall(c.Name, c)
	if err != nil {
		return err
	}
	o := object{{"call", parsed}}
	s.Steps = append(s.Steps, o)
	return w.conn.perform(parsed)
}

// parseCall reads a call: its name, then its words.
func parseCall(name string, c *script.Command) (call, error) {
	r := &reader{arguments: c}
	parsed := call{Call: name, Member: uint32(r.number("member"))}
	if name == "on" {
		parsed.Channel = r.text("channel")
	}
	if parsed.Channel == "" {
		parsed.Name = r.text("name")
	}
	word := func(what string) string {
		w, err := c.Word(what)
		r.fail(err)
		return w
	}
	switch name {
	case "on":
		do, err := parseCall(word("a call"), c)
		parsed.Do = &do
		r.fail(err)
		return parsed, r.err
	case "publication", "subscription", "publish":
		parsed.Channel = strings.Trim(word("a channel"), `"`) // "" is none
	case "reaction", "clock", "after", "every":
		d, err := time.ParseDuration(word("a duration"))
		r.fail(err)
		parsed.For = int64(d)
	case "step", "next", "promise", "at":
		at, err := readInstant(word("an instant"))
		r.fail(err)
		parsed.At = &at
	}
	parsed.Computed, parsed.CPU, parsed.CoreWait = int64(r.number("computed")), int64(r.number("cpu")), int64(r.number("core_wait"))
	parsed.Token, parsed.Size, parsed.Payload = r.text("token"), int(r.number("size")), payload(r.text("payload"))
	return parsed, r.err
}

// show is an event as text.
func show(o object) []string {
	if packets, ok := o[0].value.([]object); ok {
		var lines []string
		for i, p := range packets {
			lines = append(lines, []string{"-> ", " + "}[min(i, 1)]+fmt.Sprint(p[0].value)+" "+p[1:].String())
		}
		return lines
	}
	if o[0].key == "error" {
		return []string{fmt.Sprintf("error %v: %v", o[0].value, o[1].value)}
	}
	if o[0].value == true {
		return []string{strings.TrimSpace(o[0].key + " " + o[1:].String())}
	}
	return []string{o.String()}
}

// The vectors are played as a client in another language plays them: from the JSON alone, the frames through the codec.
func TestVectors(t *testing.T) {
	paths, err := filepath.Glob(vectors + "/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, paths)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		var stories []struct {
			Name  string            `json:"name"`
			Steps []json.RawMessage `json:"steps"`
		}
		require.NoError(t, json.Unmarshal(text, &stories), path)
		for _, s := range stories {
			t.Run(strings.TrimSuffix(filepath.Base(path), ".json")+"/"+s.Name, func(t *testing.T) { playVector(t, s.Steps) })
		}
	}
}

func playVector(t *testing.T, steps []json.RawMessage) {
	p := newConnection()
	for _, raw := range steps {
		var step struct {
			Call  *call             `json:"call"`
			In    []json.RawMessage `json:"in"`
			Frame payload           `json:"frame"`
		}
		require.NoError(t, json.Unmarshal(raw, &step))
		switch {
		case step.Call != nil:
			require.Empty(t, p.events, "before the call %s", raw)
			require.NoError(t, p.perform(*step.Call))
		case step.In != nil:
			require.Empty(t, p.events, "before the packet %s", raw)
			require.NoError(t, p.receive(step.Frame))
		default:
			require.NotEmpty(t, p.events, "nothing happens; want %s", raw)
			got, err := json.Marshal(p.events[0])
			require.NoError(t, err)
			require.JSONEq(t, string(raw), string(got))
			p.events = p.events[1:]
		}
	}
	require.Empty(t, p.events)
}
