package lcm

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"metasim/metasim"
)

// readAll reads until the log ends. The error is nil unless the last event is torn.
func readAll(r *Reader) (evs []Event, err error) {
	for {
		ev, e := r.Next()
		switch {
		case errors.Is(e, io.EOF):
			return evs, err
		case e != nil && err != nil:
			return evs, e
		case e != nil:
			err = e
		default:
			evs = append(evs, ev)
		}
	}
}

// encode writes a log.
func encode(t require.TestingT, evs []Event) []byte {
	var buf bytes.Buffer
	w := NewWriter(&buf)
	for _, ev := range evs {
		require.NoError(t, w.Write(ev))
	}
	return buf.Bytes()
}

// real returns a log that stock lcm-logger wrote, and its events.
func real(t testing.TB, file string) ([]byte, []Event) {
	log, err := os.ReadFile("testdata/" + file)
	require.NoError(t, err)
	evs, err := readAll(NewReader(bytes.NewReader(log)))
	require.NoError(t, err)
	return log, evs
}

func TestRealLogsReadAsTheirIndexSays(t *testing.T) {
	log, evs := real(t, "real.lcmlog")
	var index []struct {
		Offset, EventNum, TS, DataLen int64
		Channel                       string
		SHA                           string `json:"data_sha256"`
	}
	b, err := os.ReadFile("testdata/lcmlog_index.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(b, &index))
	require.Len(t, evs, len(index))
	at := 0
	for i, want := range index {
		sum := sha256.Sum256(evs[i].Payload)
		assert.Equal(t, want.Offset, int64(at))
		assert.Equal(t, want.EventNum, evs[i].Number)
		assert.Equal(t, want.TS, evs[i].Time)
		assert.Equal(t, want.Channel, evs[i].Channel)
		assert.Len(t, evs[i].Payload, int(want.DataLen))
		assert.Equal(t, want.SHA, hex.EncodeToString(sum[:]))
		at += headerSize + len(evs[i].Channel) + len(evs[i].Payload)
	}
	assert.Len(t, log, at)
}

func TestRealLogsAreWrittenAsTheyWere(t *testing.T) {
	for file, n := range map[string]int{"real.lcmlog": 8, "tcpq.lcmlog": 4} {
		log, evs := real(t, file)
		assert.Len(t, evs, n)
		assert.True(t, bytes.Equal(log, encode(t, evs)), "%s is not written as it was read", file)
		r := NewReader(iotest.OneByteReader(bytes.NewReader(append(bytes.Clone(log), log...))))
		twice, err := readAll(r)
		require.NoError(t, err)
		assert.Equal(t, append(evs, evs...), twice, "two logs joined are a log")
		assert.Zero(t, r.Skipped())
	}
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		evs := rapid.SliceOf(rapid.Custom(func(t *rapid.T) Event {
			return Event{
				Number:  rapid.Int64().Draw(t, "number"),
				Time:    rapid.Int64().Draw(t, "time"),
				Channel: string(rapid.SliceOfN(rapid.Byte(), 1, maxChannel).Draw(t, "channel")),
				Payload: append([]byte{}, rapid.SliceOf(rapid.Byte()).Draw(t, "payload")...),
			}
		})).Draw(t, "events")
		r := NewReader(iotest.HalfReader(bytes.NewReader(encode(t, evs))))
		got, err := readAll(r)
		require.NoError(t, err)
		require.Len(t, got, len(evs))
		for i := range evs {
			require.Equal(t, evs[i], got[i])
		}
		require.Zero(t, r.Skipped())
	})
}

// TestDamageLosesOnlyWhatWasDamaged damages every byte of every header, and the whole header, in a log whose payloads do not
// look like events.
func TestDamageLosesOnlyWhatWasDamaged(t *testing.T) {
	evs := make([]Event, 5)
	for i := range evs {
		evs[i] = Event{Number: int64(i), Time: int64(10 * i), Channel: "CHANNEL", Payload: bytes.Repeat([]byte{'p'}, 300)}
	}
	log := encode(t, evs)
	size := len(log) / len(evs)
	for victim := range evs {
		at := victim * size
		for i := range headerSize + 8 {
			for bit := range 8 {
				damaged := bytes.Clone(log)
				damaged[at+i] ^= 1 << bit
				checkOthers(t, damaged, evs, victim)
			}
		}
		damaged := bytes.Clone(log)
		clear(damaged[at : at+size])
		r := checkOthers(t, damaged, evs, victim)
		assert.Equal(t, int64(size), r.Skipped())
		lost := append(bytes.Clone(log[:at]), log[at+100:]...)
		checkOthers(t, lost, evs, victim)
		inserted := append(append(bytes.Clone(log[:at]), "inserted"...), log[at:]...)
		r = NewReader(bytes.NewReader(inserted))
		got, err := readAll(r)
		require.NoError(t, err)
		assert.Equal(t, evs, got)
		assert.Equal(t, int64(8), r.Skipped())
	}
}

// checkOthers reads a log in which one event was damaged, and requires all others.
func checkOthers(t *testing.T, log []byte, evs []Event, victim int) *Reader {
	r := NewReader(bytes.NewReader(log))
	got, err := readAll(r)
	if victim < len(evs)-1 {
		require.NoError(t, err)
	}
	for i, ev := range evs {
		if i != victim {
			require.Contains(t, got, ev, "event %d was damaged, and event %d lost with it", victim, i)
		}
	}
	require.LessOrEqual(t, len(got), len(evs))
	return r
}

func TestATornTailIsReportedOnce(t *testing.T) {
	log, evs := real(t, "real.lcmlog")
	last := len(log) - headerSize - 63 - 4
	for cut := last + 1; cut < len(log); cut++ {
		r := NewReader(bytes.NewReader(log[:cut]))
		got, err := readAll(r)
		var torn *TornError
		require.ErrorAs(t, err, &torn, "cut at %d", cut)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.Equal(t, int64(last), torn.Offset)
		require.Equal(t, int64(cut-last), torn.Have)
		require.Greater(t, torn.Want, torn.Have)
		require.Equal(t, evs[:len(evs)-1], got)
		require.Zero(t, r.Skipped())
	}
	assert.EqualError(t, &TornError{Offset: 7, Have: 30, Want: 41},
		"the log ends inside the event at byte 7: 30 bytes of 41; all events before it are whole")
}

func TestAnotherFileIsSkippedWhole(t *testing.T) {
	r := NewReader(strings.NewReader(strings.Repeat("no log at all ", 10_000)))
	evs, err := readAll(r)
	require.NoError(t, err)
	assert.Empty(t, evs)
	assert.Equal(t, int64(140_000), r.Skipped())
}

// A length alone allocates nothing: memory grows with the bytes that come.
func TestAHugeLengthAllocatesNothing(t *testing.T) {
	log := encode(t, []Event{{Channel: "A", Payload: []byte("payload")}})
	copy(log[24:], "\x0f\xff\xff\xff")
	r := NewReader(bytes.NewReader(log))
	_, err := readAll(r)
	var torn *TornError
	require.ErrorAs(t, err, &torn)
	assert.Equal(t, int64(headerSize+1+0x0fffffff), torn.Want)
	assert.LessOrEqual(t, r.ahead.Cap(), 2*firstRead)
}

func TestAReadErrorIsPassedOnForEver(t *testing.T) {
	log, _ := real(t, "real.lcmlog")
	r := NewReader(io.MultiReader(bytes.NewReader(log[:161]), iotest.ErrReader(os.ErrPermission)))
	for range 2 {
		_, err := r.Next()
		require.ErrorIs(t, err, os.ErrPermission)
	}
	_, err := NewReader(stuck{}).Next()
	require.ErrorIs(t, err, io.ErrNoProgress)
}

// stuck is a reader that never returns a byte.
type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestTheWriterRefusesWhatReadersRefuse(t *testing.T) {
	var buf bytes.Buffer
	w := NewWriter(&buf)
	assert.ErrorContains(t, w.Write(Event{}), "channel name of 0 bytes; use 1 to 999")
	assert.ErrorContains(t, w.Write(Event{Channel: strings.Repeat("x", 1000)}), "1000 bytes")
	assert.ErrorContains(t, w.Write(Event{Channel: "A", Payload: make([]byte, MaxPayload+1)}), "use at most 268435456")
	assert.Zero(t, buf.Len())
	require.NoError(t, w.Write(Event{Channel: strings.Repeat("x", maxChannel)}))
}

func TestAClockNeverGoesBack(t *testing.T) {
	var c Clock
	for _, step := range []struct {
		stamp         int64
		elapsed, back metasim.Time
	}{
		{1_000_000, 0, 0},
		{1_000_005, 5000, 0},
		{1_000_002, 5000, 3000},
		{999_000, 5000, 1005 * metasim.Microsecond},
		{1_000_005, 5000, 0},
		{1_000_006, 6000, 0},
		{math.MaxInt64, metasim.Forever, 0},
		{math.MinInt64, metasim.Forever, metasim.Forever},
	} {
		elapsed, back := c.Elapsed(step.stamp)
		assert.Equal(t, step.elapsed, elapsed, "stamp %d", step.stamp)
		assert.Equal(t, step.back, back, "stamp %d", step.stamp)
	}
}

// FuzzReader: for any bytes, reading ends, every byte belongs to an event or is skipped or torn, and an event that was read
// is written with the same bytes.
func FuzzReader(f *testing.F) {
	small := encode(f, []Event{{Channel: "A"}, {Number: 1, Time: -5, Channel: "BC", Payload: []byte("payload")}})
	f.Add(small)
	f.Add(small[:len(small)-3])
	f.Add(append([]byte("\xed\xa1\xda"), small[1:]...))
	f.Fuzz(func(t *testing.T, log []byte) {
		r := NewReader(bytes.NewReader(log))
		evs, err := readAll(r)
		total := r.Skipped()
		var torn *TornError
		if errors.As(err, &torn) {
			total += torn.Have
		} else {
			require.NoError(t, err)
		}
		again := encode(t, evs)
		require.Equal(t, int64(len(log)), total+int64(len(again)))
		if total == 0 {
			require.True(t, bytes.Equal(log, again))
		}
		require.LessOrEqual(t, r.ahead.Cap(), 4*(firstRead+len(log)))
	})
}

func BenchmarkReader(b *testing.B) {
	log, _ := real(b, "real.lcmlog")
	b.SetBytes(int64(len(log)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := readAll(NewReader(bytes.NewReader(log))); err != nil {
			b.Fatal(err)
		}
	}
}
