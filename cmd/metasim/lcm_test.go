package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/internal/golden"

	"metasim/lcm"
	"metasim/lcm/inspect"
	"metasim/lcm/types"
)

const poseTypes = `package toy;
struct pose_t { int64_t utime; double pos[2]; string name; }
struct same_t { int64_t utime; double pos[2]; string name; }
struct note_t { int16_t n; byte raw[n]; mood_t mood; }
enum mood_t { GOOD, BAD }
`

// toy writes types into the stage and returns them.
func toy(s *stage) *types.Set {
	require.NoError(s, os.Mkdir(filepath.Join(s.dir, "types"), 0o755))
	s.file("types/toy.lcm", poseTypes)
	set, err := types.Load(filepath.Join(s.dir, "types"))
	require.NoError(s, err)
	return set
}

// eventLog writes a log into the stage. Numbers are counted.
func eventLog(s *stage, name string, events ...lcm.Event) []byte {
	var b bytes.Buffer
	w := lcm.NewWriter(&b)
	for i, ev := range events {
		ev.Number = int64(i)
		require.NoError(s, w.Write(ev))
	}
	s.file(name, b.String())
	return b.Bytes()
}

// mixed are events of every sort.
func mixed(s *stage, set *types.Set) []lcm.Event {
	message := func(name string, members ...any) []byte {
		b := binary.BigEndian.AppendUint64(nil, set.Lookup(name).Fingerprint)
		for _, m := range members {
			var err error
			b, err = binary.Append(b, binary.BigEndian, m)
			require.NoError(s, err)
		}
		return b
	}
	text := []byte("a <b> \u0007é\x00")
	const nan = 0x7ff8000000000000 // of C
	pose := message("toy.pose_t", int64(9007199254740993), 0.1, uint64(nan), int32(len(text)), text)
	return []lcm.Event{
		{Time: 1_000_000, Channel: "POSE", Payload: pose},
		{Time: 1_250_000, Channel: "NOTE", Payload: message("toy.note_t", int16(3), []byte{1, 2, 3}, int32(2))},
		{Time: 1_500_000, Channel: "POSE", Payload: pose},
		{Time: 2_000_000, Channel: "POSE", Payload: pose},
		{Time: 2_000_000, Channel: "POSE_CUT", Payload: pose[:len(pose)-1]},
		{Time: 2_000_001, Channel: "with space", Payload: []byte("counter 1")},
		{Time: 2_000_002, Channel: "EMPTY"},
	}
}

func TestLCMInfo(t *testing.T) {
	s := newStage(t)
	events := mixed(s, toy(s))
	for i := range 20 {
		events = append(events, lcm.Event{Time: 3_000_000, Channel: "TEXT", Payload: []byte(strings.Repeat(string(rune('a'+i)), 9))})
	}
	eventLog(s, "run.lcmlog", events...)
	e := s.metasim("lcm", "info", "run.lcmlog", "--types", "types")
	require.Equal(t, 0, e.status)
	require.Empty(t, e.err)
	golden.Equal(t, "testdata/lcm_info.txt", e.out)

	bare := s.metasim("lcm", "info", "run.lcmlog")
	require.NotContains(t, bare.out, "toy.pose_t")
	require.Contains(t, bare.out, "\nPOSE ")

	var told struct {
		Events   int64
		Bytes    int64
		First    int64 `json:"first_us"`
		Last     int64 `json:"last_us"`
		Channels []struct {
			Channel  string
			Messages int64
			Rate     float64
			Untyped  int64
			Types    []struct{ Names []string }
		}
	}
	e = s.metasim("lcm", "info", "--json", "run.lcmlog", "--types", "types/toy.lcm")
	e.object(t, &told)
	require.EqualValues(t, 27, told.Events)
	require.EqualValues(t, 1_000_000, told.First)
	require.EqualValues(t, 3_000_000, told.Last)
	require.Len(t, told.Channels, 6)
	pose := told.Channels[2]
	require.Equal(t, "POSE", pose.Channel)
	require.EqualValues(t, 3, pose.Messages)
	require.InDelta(t, 2.0, pose.Rate, 1e-12)
	require.Len(t, pose.Types, 1)
	require.Equal(t, []string{"toy.pose_t", "toy.same_t"}, pose.Types[0].Names)
	require.EqualValues(t, 20-8, told.Channels[4].Untyped)

	eventLog(s, "empty.lcmlog")
	e = s.metasim("lcm", "info", "empty.lcmlog")
	require.Equal(t, 0, e.status)
	require.Equal(t, "empty.lcmlog: 0 events on 0 channels, 0 bytes of payload\n", e.out)
	require.Contains(t, s.metasim("lcm", "info", "empty.lcmlog", "--json").out, `"channels":[]`)
}

func TestLCMCat(t *testing.T) {
	s := newStage(t)
	events := mixed(s, toy(s))
	eventLog(s, "run.lcmlog", events...)
	e := s.metasim("lcm", "cat", "run.lcmlog", "--types", "types")
	require.Equal(t, 0, e.status)
	golden.Equal(t, "testdata/lcm_cat.txt", e.out)
	e.says(t, "warning: 1 messages have the fingerprint of a type and are none; the first is event 4: ", "the message is cut off")

	log, err := os.ReadFile(filepath.Join(s.dir, "run.lcmlog"))
	require.NoError(t, err)
	var piped, told strings.Builder
	require.Equal(t, 0, execute(t.Context(), []string{"lcm", "cat", "-", "--types", filepath.Join(s.dir, "types")},
		streams{in: bytes.NewReader(log), out: &piped, err: &told}), told.String())
	require.Equal(t, e.out, piped.String(), "- is standard input")
	only := s.metasim("lcm", "cat", "run.lcmlog", "--channel", "POSE|EMP.*")
	require.Equal(t, 4, strings.Count(only.out, "\n"), "the pattern matches whole names")
	require.Empty(t, only.err)
	require.NotContains(t, only.out, "utime", "no types were given")
	none := s.metasim("lcm", "cat", "run.lcmlog", "--channel", "POSES")
	require.Equal(t, 2, none.status)
	require.Empty(t, none.out)
	none.says(t, `run.lcmlog has no channel "POSES"`, `did you mean "POSE"?`)

	e = s.metasim("lcm", "cat", "run.lcmlog", "--types", "types", "--json")
	golden.Equal(t, "testdata/lcm_cat.json", e.out)
	i := 0
	for text := range strings.Lines(e.out) {
		d := json.NewDecoder(strings.NewReader(text))
		d.DisallowUnknownFields()
		var line struct {
			Number        int64
			Time          int64 `json:"time_us"`
			Channel, Type string
			Base64        string `json:"channel_base64"`
			Size          int
			Value         json.RawMessage
			Hex           *string
			Error         string
		}
		require.NoError(t, d.Decode(&line))
		require.Equal(t, events[i].Time, line.Time)
		require.Equal(t, events[i].Channel, line.Channel)
		require.Equal(t, len(events[i].Payload), line.Size)
		require.NotEqual(t, line.Hex == nil, line.Value == nil, "one of them")
		i++
	}
	require.Len(t, events, i)
}

// A damaged log is told from a whole one, and all that is whole in it is shown.
func TestLCMDamage(t *testing.T) {
	s := newStage(t)
	long := strings.Repeat("L", 200)
	whole := eventLog(s, "whole.lcmlog",
		lcm.Event{Time: -1, Channel: "A\x00B"},
		lcm.Event{Time: 5_000_000, Channel: long, Payload: []byte("x")},
		lcm.Event{Time: 3_000_000, Channel: "\xff\n", Payload: []byte("y")},
		lcm.Event{Time: 4_000_000, Channel: "A", Payload: []byte("z")})
	e := s.metasim("lcm", "info", "whole.lcmlog")
	require.Equal(t, 0, e.status)
	require.Empty(t, e.err)
	golden.Equal(t, "testdata/lcm_odd.txt", e.out)

	e = s.metasim("lcm", "cat", "whole.lcmlog")
	require.Equal(t, 0, e.status)
	e.says(t, "warning: time goes back: 2 of 4 events are stamped earlier than one before them, by up to 2s")
	require.Equal(t, "-0.000001 \"A\\x00B\" (empty)\n5.000000 "+long+" 78\n3.000000 \"\\xff\\n\" 79\n4.000000 A 7a\n", e.out)
	e = s.metasim("lcm", "cat", "whole.lcmlog", "--json", "--channel", "(?s)[^L]*")
	require.Contains(t, e.out, `"channel":"A\u0000B","size":0,"hex":""`)
	require.Contains(t, e.out, `"channel":"�\n","channel_base64":"/wo="`)

	damaged := append([]byte("what is this?"), whole...)
	damaged = append(damaged, "and this"...)
	damaged = append(damaged, whole[:30]...)
	s.file("damaged.lcmlog", string(damaged))
	for _, verb := range []string{"info", "cat"} {
		e := s.metasim("lcm", verb, "damaged.lcmlog")
		require.Equal(t, 1, e.status)
		require.Contains(t, e.err, "metasim: damaged.lcmlog is damaged: 21 bytes in it are no event, and it ends inside the event at byte ")
		require.Contains(t, e.err, ", with 30 bytes of 31; every whole event was read\n")
		require.Equal(t, s.metasim("lcm", verb, "whole.lcmlog").out, strings.ReplaceAll(e.out, "damaged", "whole"))
	}
	var told inspect.Summary
	s.metasim("lcm", "info", "damaged.lcmlog", "--json").object(t, &told)
	require.True(t, told.Torn)
	require.EqualValues(t, 21, told.Skipped)
	require.EqualValues(t, 2, told.Back)
	require.EqualValues(t, 2_000_000, told.Most)
}

func TestLCMUsage(t *testing.T) {
	s := newStage(t)
	toy(s)
	eventLog(s, "run.lcmlog", lcm.Event{Channel: "A"})
	s.file("text.lcmlog", "this is no log, and not at all short")
	s.file("types/sub.txt", "")
	require.NoError(t, os.Mkdir(filepath.Join(s.dir, "none"), 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(s.dir, "bad"), 0o755))
	s.file("bad/bad.lcm", "struct a {\n  int x;\n}\n")
	for _, c := range []struct {
		args string
		says []string
	}{
		{"lcm inf", []string{`no command "inf"`, "did you mean info?"}},
		{"lcm xyzzy", []string{`no command "xyzzy"`, "metasim lcm --help"}},
		{"lcm info", []string{"info takes one log, but was given none; see metasim lcm info --help"}},
		{"lcm cat a b", []string{`cat takes one log, but was given ["a" "b"]; see metasim lcm cat --help`}},
		{"lcm cat --bogus a", []string{"--bogus", "metasim lcm cat --help"}},
		{"lcm info nofile", []string{"nofile", "no such file"}},
		{"lcm info .", []string{"is a directory"}},
		{"lcm info text.lcmlog", []string{"text.lcmlog is no event log of LCM", "lcm-logger"}},
		{"lcm cat text.lcmlog", []string{"text.lcmlog is no event log of LCM"}},
		{"lcm cat run.lcmlog --channel (", []string{`--channel "("`, "no pattern"}},
		{"lcm cat run.lcmlog --types nodir", []string{"nodir: no such file"}},
		{"lcm info run.lcmlog --types none", []string{"none: no file there ends in .lcm"}},
		{"lcm info run.lcmlog --types bad", []string{filepath.Join("bad", "bad.lcm") + ":2:3: there is no type int; use int8_t"}},
	} {
		t.Run(c.args, func(t *testing.T) {
			sub := *s
			sub.T = t
			e := sub.metasim(strings.Fields(c.args)...)
			require.Equal(t, 2, e.status)
			require.Empty(t, e.out, "stdout is for results")
			e.says(t, c.says...)
		})
	}
	help := s.metasim("lcm", "--help").out
	for _, verb := range []string{"info", "cat"} {
		require.Contains(t, help, "  "+verb+" ")
		require.NotContains(t, s.metasim("lcm", verb, "--help").out, " string ", "flags name what they take")
	}
}
