package record_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/record"
	"metasim/record/journal"
)

// lossy has messages that are lost, some that come too late, and some for a client that has left.
const lossy = `name: lossy
seed: 3
until: 100ms
clients:
  - {name: a, model: source, with: {channel: A, period: 3ms}}
  - {name: b, model: source, with: {channel: B, period: 3ms}}
  - {name: hasty, model: ping, with: {rounds: 2, out: PING, in: A}}
  - {name: all, model: sink, with: {channels: [".*"]}}
  - {name: some, model: sink, with: {channels: ["[AB]"]}}
links:
  - {delay: 2ms}
  - {to: all, delay: {uniform: {min: 1ms, max: 20ms}}, loss: 0.2}
`

func TestReadLog(t *testing.T) {
	out := carryOut(t, parse(t, lossy))
	l, err := record.ReadLog(out.RunDir)
	require.NoError(t, err)
	require.NoError(t, l.Torn)
	require.Equal(t, []string{"a", "all", "b", "hasty", "some"}, l.Run.Manifest.Clients)

	var lost, undelivered, delivered uint64
	for i := range l.Messages {
		switch p := &l.Messages[i]; {
		case p.Due == nil:
			lost++
		case p.Undelivered:
			undelivered++
			late := p.Due.Time >= 100_000_000
			require.True(t, late || p.To == "hasty", "%+v", p)
		default:
			delivered++
		}
	}
	require.Positive(t, lost)
	require.Positive(t, undelivered)
	require.Equal(t, out.Messages.Dropped, lost)
	require.Equal(t, out.Messages.Delivered, delivered)
	require.Equal(t, out.Messages.Undelivered, undelivered)
	require.True(t, slices.IsSortedFunc(l.Messages, order), "due, to, order of delivery; the lost ones last")
	require.Nil(t, l.Messages[len(l.Messages)-1].Due)

	text, err := json.Marshal(l.Messages[len(l.Messages)-1])
	require.NoError(t, err)
	require.Contains(t, string(text), `"due":null`)
}

// order is the order of `metasim log`, written down once more: by instant, then by names.
func order(p, q record.Message) int {
	key := func(p record.Message) (k []int64, names []string) {
		if p.Due == nil {
			return []int64{1, int64(p.Sent.Time), int64(p.Sent.Step)}, []string{p.From, number(p.Seq), p.To}
		}
		return []int64{0, int64(p.Due.Time), int64(p.Due.Step)},
			[]string{p.To, number(uint64(p.Sent.Time)), number(uint64(p.Sent.Step)), p.From, number(p.Seq)}
	}
	pk, pn := key(p)
	qk, qn := key(q)
	if c := slices.Compare(pk, qk); c != 0 {
		return c
	}
	return slices.Compare(pn, qn)
}

// number writes a number so that texts compare as numbers do.
func number(n uint64) string {
	b := make([]byte, 8)
	for i := range b {
		b[i] = byte(n >> (56 - 8*i))
	}
	return string(b)
}

// A journal cut off anywhere gives its good part and says so; no cut is taken for a whole.
func TestTornJournal(t *testing.T) {
	out := carryOut(t, parse(t, lossy))
	file := filepath.Join(out.RunDir, "journal")
	whole, err := os.ReadFile(file)
	require.NoError(t, err)
	before := 0
	for cut := 16; cut < len(whole); cut += len(whole)/50 + 1 {
		require.NoError(t, os.WriteFile(file, whole[:cut], 0o644))
		l, err := record.ReadLog(out.RunDir)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(l.Messages), before)
		before = len(l.Messages)
		require.Error(t, l.Torn)
		torn := new(journal.TornError)
		require.ErrorAs(t, l.Torn, &torn, "also where the cut lies between two records")
		require.LessOrEqual(t, torn.Offset, int64(cut))
		require.NotEqual(t, out.Digest, l.Ledger.Digest().String())
	}
	require.Positive(t, before)
}

// A journal beside the manifest of another run is refused, not misread.
func TestForeignManifest(t *testing.T) {
	out := carryOut(t, parse(t, lossy))
	dir, err := journal.Open(out.RunDir)
	require.NoError(t, err)
	m, err := dir.Manifest()
	require.NoError(t, err)
	for _, clients := range [][]string{m.Clients[:1], nil} {
		m.Clients = clients
		require.NoError(t, dir.WriteManifest(m))
		_, err = record.ReadLog(out.RunDir)
		require.ErrorContains(t, err, "not of one run")
	}

	require.NoError(t, os.Remove(filepath.Join(out.RunDir, "manifest.json")))
	_, err = record.ReadLog(out.RunDir)
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = record.ReadLog(t.TempDir())
	require.ErrorContains(t, err, "is no run")
}

// What a run was can be read from its manifest: the scenario in it gives the same run again.
func TestResolved(t *testing.T) {
	sc := parse(t, lossy)
	first := carryOut(t, sc)
	l, err := record.ReadLog(first.RunDir)
	require.NoError(t, err)
	require.Equal(t, metasim.Time(100_000_000), l.Run.Manifest.Until)
	require.NotEmpty(t, l.Run.Manifest.Resolved)
	again := carryOut(t, parse(t, string(l.Run.Manifest.Resolved)))
	require.Equal(t, first.Digest, again.Digest)
}
