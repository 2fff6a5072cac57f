package replay_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/metasim"
	"metasim/record/journal"
)

const lossy = `name: lossy
seed: 3
until: 100ms
clients:
  - {name: a, model: source, with: {channel: A, period: 3ms}}
  - {name: b, model: source, with: {channel: B, period: 3ms}}
  - {name: hasty, model: ping, with: {rounds: 2, out: PING, in: A}}
  - {name: all, model: sink, with: {channels: [".*"]}}
links:
  - {delay: 2ms}
  - {to: all, delay: {uniform: {min: 1ms, max: 20ms}}, loss: 0.2}
`

// TestAuditFindsAChange plants one change in the effects of a journal, of each kind.
func TestAuditFindsAChange(t *testing.T) {
	for name, change := range map[string]func(e metasim.Effect) bool{
		"due": func(e metasim.Effect) bool {
			q, ok := e.(*metasim.Queue)
			if ok {
				q.Message.Due = q.Message.Due.Add(1)
			}
			return ok
		},
		"authorization": func(e metasim.Effect) bool {
			a, ok := e.(*metasim.Authorize)
			if ok {
				a.Until.Step++
			}
			return ok
		},
		"order": func(e metasim.Effect) bool {
			d, ok := e.(*metasim.Deliver)
			if ok {
				d.Message.Due.Step++
			}
			return ok
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := recordRun(t, lossy, "mem")
			planted := 0
			rewrite(t, dir, func(n int, e journal.Entry) []journal.Entry {
				for _, effect := range e.Effects {
					if planted == 0 && n > 40 && change(effect) {
						planted = n
					}
				}
				return []journal.Entry{e}
			})
			require.NotZero(t, planted)
			a := audit(t, dir)
			require.NotNil(t, a.Difference)
			require.EqualValues(t, planted, a.Entries)
			require.Contains(t, a.Difference.Error(), "of entry")
			require.NotEqual(t, a.Difference.Then, a.Difference.Now)
		})
	}
}

// TestAuditUsesTheRecordedDelays: with another delay than that of the record nothing is as it was.
func TestAuditUsesTheRecordedDelays(t *testing.T) {
	dir := recordRun(t, lossy, "mem")
	retell(t, dir, `"delay":"2ms"`, `"delay":"3ms"`)
	require.NotNil(t, audit(t, dir).Difference)
}

// TestAuditMissesNothing: a journal that was cut off between two entries lacks its end, and one that is whole has the digest of its run.
func TestAuditMissesNothing(t *testing.T) {
	dir := recordRun(t, lossy, "mem")
	last := 0
	rewrite(t, dir, func(n int, e journal.Entry) []journal.Entry { last = n; return []journal.Entry{e} })
	rewrite(t, dir, func(n int, e journal.Entry) []journal.Entry {
		if n > last-10 {
			return nil
		}
		return []journal.Entry{e}
	})
	a := audit(t, dir)
	require.Nil(t, a.Difference)
	require.ErrorContains(t, a.Torn, "nothing says that the run ended there")

	dir = recordRun(t, lossy, "mem")
	edit(t, dir, func(m *journal.Manifest) { m.Digest = strings.Repeat("0", 64) })
	a = audit(t, dir)
	require.NoError(t, a.Torn)
	require.Equal(t, "the digest of the deliveries", a.Difference.Where)
}

// TestAuditOfAKilledRun cuts a journal anywhere: what is there is checked, and is good.
func TestAuditOfAKilledRun(t *testing.T) {
	whole := audit(t, recordRun(t, lossy, "mem"))
	for part := 0.05; part < 1; part += 0.13 {
		dir := recordRun(t, lossy, "mem")
		cut(t, dir, part)
		a := audit(t, dir)
		require.Nil(t, a.Difference)
		require.Less(t, a.Entries, whole.Entries*3/2)
	}
}

// TestAuditOfAnEntryThatBreaksOff: the effects of an entry may lie in a record of their own, and that may be torn.
func TestAuditOfAnEntryThatBreaksOff(t *testing.T) {
	dir := recordRun(t, lossy, "mem")
	file := filepath.Join(dir, "journal")
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	r := journal.NewReader(bytes.NewReader(b), nil)
	var out bytes.Buffer
	w := journal.NewWriter(&out)
	for {
		e, err := r.Next()
		require.NoError(t, err)
		if send, ok := e.Event.(*metasim.Send); ok && len(e.Effects) > 0 {
			send.Payload = make([]byte, 1<<20) // so large that the effects go into the next record
			require.NoError(t, w.Observe(e.Wall, send, e.Effects))
			break
		}
		require.NoError(t, w.Observe(e.Wall, e.Event, e.Effects))
	}
	require.NoError(t, w.Close())
	require.NoError(t, os.WriteFile(file, out.Bytes()[:out.Len()-1], 0o644))
	a := audit(t, dir)
	require.Nil(t, a.Difference)
	require.ErrorAs(t, a.Torn, new(*journal.TornError))
}

// TestAuditOfTheWrongManifest: nothing that is not of one run makes it panic.
func TestAuditOfTheWrongManifest(t *testing.T) {
	dir := recordRun(t, lossy, "mem")
	edit(t, dir, func(m *journal.Manifest) { m.Clients = m.Clients[:1] })
	_, err := openAndAudit(dir)
	require.ErrorContains(t, err, "not of one run")
}
