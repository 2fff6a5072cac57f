package show

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/analysis/trace"
	"metasim/metasim"
)

// tableAt reads a table: its cells by column.
func tableAt(t *testing.T, dir, name string) map[string][]string {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, name+".csv"))
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	rows, err := csv.NewReader(f).ReadAll()
	require.NoError(t, err)
	columns := map[string][]string{}
	for i, head := range rows[0] {
		require.NotEmpty(t, head)
		require.NotContains(t, columns, head)
		columns[head] = []string{}
		for _, row := range rows[1:] {
			columns[head] = append(columns[head], row[i])
		}
	}
	return columns
}

func sumOf(t *testing.T, cells []string) (sum float64) {
	t.Helper()
	for _, c := range cells {
		x, err := strconv.ParseFloat(c, 64)
		require.NoError(t, err)
		sum += x
	}
	return sum
}

// What a notebook sums up of the tables is what the report says. Every column is in the documentation.
func TestTablesAddUp(t *testing.T) {
	tl, r := robot(t)
	tl.Names[1] = "ba\"se,\n=1"
	r.Clients[1].Name = tl.Names[1]
	tl.Grants[0].Until = metasim.Infinity
	dir := filepath.Join(t.TempDir(), "tables")
	require.NoError(t, CSV(dir, tl, r))
	clients, links := tableAt(t, dir, "clients"), tableAt(t, dir, "links")
	require.Equal(t, tl.Names, clients["name"])
	require.InDelta(t, r.WorkS, sumOf(t, clients["work_s"]), 1e-9)
	require.Len(t, links["from"], len(r.Links))
	grants, holds, messages := tableAt(t, dir, "grants"), tableAt(t, dir, "holds"), tableAt(t, dir, "messages")
	require.Equal(t, "", grants["until_sim_ns"][0])
	blocked, critical := 0.0, 0.0
	for i, c := range r.Clients {
		blocked += c.BlockedS
		critical += c.CriticalS - trace.Seconds(tl.Starts[i].Critical)
	}
	require.InDelta(t, blocked, (sumOf(t, grants["granted_ns"])-sumOf(t, grants["polled_ns"]))/1e9, 1e-9)
	require.InDelta(t, critical, sumOf(t, grants["critical_ns"])/1e9, 1e-9)
	require.InDelta(t, blocked, (sumOf(t, holds["end_ns"])-sumOf(t, holds["begin_ns"]))/1e9, 1e-9)
	require.Len(t, messages["from"], len(tl.Messages))
	require.InDelta(t, sumOf(t, links["bytes"]), sumOf(t, messages["bytes"]), 1e-9)

	doc, err := os.ReadFile("../../docs/report.md")
	require.NoError(t, err)
	for _, table := range []map[string][]string{grants, holds, messages} {
		for column := range table {
			require.Contains(t, string(doc), "`"+column+"`", "docs/report.md does not say what it is")
		}
	}
	require.Error(t, CSV(filepath.Join(dir, "clients.csv"), tl, r), "a file is in the way")
	require.Contains(t, strings.Join(holds["path"], "; "), "planner -> "+tl.Names[1]+" on PLAN")
}
